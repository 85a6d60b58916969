# Databricks notebook source
# MAGIC %md
# MAGIC # A private release, from pings to answers
# MAGIC
# MAGIC A made-up city is released with user-level differential privacy, then asked questions. On Databricks, install
# MAGIC the wheel on the cluster and set `CONF` to a configuration whose `output` is a volume, such as
# MAGIC `/Volumes/main/default/vdr/demo`, with `tables: main.default` and `single_writer: true`. Elsewhere this file
# MAGIC runs as it is, from the repository's root: `python notebooks/quickstart.py`.

# COMMAND ----------

from vdr_spark import Box, Publisher, register_views

CONF = "conf/demo.yaml"
publisher = Publisher.from_yaml(CONF)  # takes the session that is there, or starts one when it is needed

# COMMAND ----------

# MAGIC %md
# MAGIC ## Before any data are read
# MAGIC What will be done, who is protected, what it spends.

# COMMAND ----------

print(publisher.explain())

# COMMAND ----------

# MAGIC %md
# MAGIC ## The release
# MAGIC Every stage is resumable: run this cell again and nothing is drawn or spent a second time. A release shows
# MAGIC itself: its promise, its error, a map.

# COMMAND ----------

publisher.synthesize()  # leave this out where the pings are your own: a path, a table, or a DataFrame
release = publisher.release()
print(release)
release

# COMMAND ----------

# MAGIC %md
# MAGIC ## Questions in Python

# COMMAND ----------

lat, lon = release.grid.box.centre
print(release.range_count(Box.around(lat, lon, 1000)))
print(release.nearest_hotspot(lat, lon, release.grid.slices // 2))
print(release.forecast(Box.around(lat, lon, 1000), horizon=4))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Questions in SQL

# COMMAND ----------

register_views(publisher.spark, publisher.config.output, release.release_id, tables=publisher.config.tables)
busiest = publisher.spark.sql("""
    SELECT slice_start, round(sum(count)) AS pings
    FROM cells JOIN releases USING (release_id)
    WHERE releases.protected
    GROUP BY slice_start ORDER BY pings DESC LIMIT 3
""")
busiest.show(truncate=False)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Was the promise kept?
# MAGIC The audit reads the ledger, the noisy tensor, the released cells and the statement, and no ping.

# COMMAND ----------

print(publisher.audit())
print(publisher.budget)
