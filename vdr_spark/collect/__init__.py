"""Spark in, noisy slices out: locate the pings, bound every user, count, add noise, store once.

`stage` puts the parts together. Nothing exact leaves this package: what `locate`, `bounding`, `buckets` and
`packed_counts` pass on lives in Spark's memory and shuffle files only, and the first thing written is the noisy tensor.
"""
