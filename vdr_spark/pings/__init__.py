"""Reading pings: the field's formats and layouts, tables and DataFrames, as `user_id, lat, lon, ts`.

`readers` puts the parts together. `layouts` says what the known datasets look like, `columns` finds theirs for ours,
`csv_files` opens text, `timestamps` makes instants of whatever they call a time. Before any row is read, `csv_headers`
and `parquet_schemas` compare all files (`file_checks`), and `recompute` looks at the plan behind a table or DataFrame.
`preview` is a look without Spark, for `vdr explain`.
"""
