"""Published releases: `publish` writes the Delta tables, `read` gives one back as a `Release`, `views` to SQL.

`release` is the object, which knows neither Spark nor pandas until it is asked for them; `frames` and `card` turn it
into tables and into what a notebook shows.
"""
