"""Generated pings: a city that nobody lives in, or the paper's Gaussian mixture.

`generate` runs the generators on Spark, `blocks` is what its workers run. The generators are NumPy: `power_law` says
how many pings a person has, `mixture` is the paper's, and a city is made of `ground`, `terrain`, `city`, `roads`,
`rhythm`, `people`, in this order.
"""
