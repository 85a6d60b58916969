"""A release in SQL: views and table functions with error bars, as text for several engines.

`subject` is what is known of a release, `dialects` what engines write differently, `views` and `functions` the text,
built of `box_sums` (which rows a box touches, and by what share), `error_bars` and `expressions`; `script` puts it all
together. What is constant for a release (its grid, the errors of its sums) stands in the text: engines fold it, and
skip the row groups that a question is not about. Nothing here knows Spark, or runs anything.
"""
