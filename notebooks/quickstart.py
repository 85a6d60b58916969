# Databricks notebook source
# MAGIC %md
# MAGIC # A private release, from pings to answers
# MAGIC
# MAGIC A made-up city is released with user-level differential privacy, then asked questions. On Databricks, install
# MAGIC the wheel on the cluster and set `CONF` to a configuration whose `output` is a volume, such as
# MAGIC `/Volumes/main/default/vdr/demo`. Elsewhere this file runs as it is, from the repository's root:
# MAGIC `python notebooks/quickstart.py`.

# COMMAND ----------

from vdr_spark import forecast, load_config, nearest_hotspot, range_count, register_views, run_release, run_stage
from vdr_spark import spark_session as session_of
from vdr_spark.explain import explain
from vdr_spark.grid import Box

CONF = "conf/demo.yaml"
config = load_config(CONF)
spark = session_of(config.spark)  # on Databricks: the session that is there

# COMMAND ----------

# MAGIC %md
# MAGIC ## Before any data are read
# MAGIC What will be done, who is protected, what it spends.

# COMMAND ----------

print(explain(config))

# COMMAND ----------

# MAGIC %md
# MAGIC ## The release
# MAGIC Every stage is resumable: run this cell again and nothing is drawn or spent a second time.

# COMMAND ----------

run_stage("synth", spark, config)  # leave this out where `input.path` holds your own pings
release = run_release(spark, config)
print(
    f"{release.release_id}: {release.counts.shape[0]} slices of {release.counts.shape[1]} x {release.counts.shape[2]}"
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Questions in Python

# COMMAND ----------

box = release.grid.box
lat, lon = (box.south + box.north) / 2, (box.west + box.east) / 2
print(range_count(release, Box.around(lat, lon, 1000)).sentence())
print(nearest_hotspot(release, lat, lon, release.grid.slices // 2).sentence())
print(forecast(release, Box.around(lat, lon, 1000), horizon=4).sentence())

# COMMAND ----------

# MAGIC %md
# MAGIC ## Questions in SQL

# COMMAND ----------

register_views(spark, config.output)
busiest = spark.sql("""
    SELECT slice_start, round(sum(count)) AS pings
    FROM cells JOIN releases USING (release_id)
    WHERE releases.protected
    GROUP BY slice_start ORDER BY pings DESC LIMIT 3
""")
busiest.show(truncate=False)
