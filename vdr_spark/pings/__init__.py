"""Reading pings: the field's formats and layouts, as `user_id, lat, lon, ts`.

`layouts` says what the known datasets look like, `csv_files` opens text, `timestamps` makes instants of whatever they
call a time. Before any row is read, `csv_headers` and `parquet_schemas` compare all files (`file_checks`).
"""
