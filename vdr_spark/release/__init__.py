"""Published releases: `publish` writes the Delta tables, `read` gives them back, to SQL or as a `model.Release`."""
