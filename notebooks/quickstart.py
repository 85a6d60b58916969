# Databricks notebook source
# MAGIC %md
# MAGIC # A private release, from pings to answers
# MAGIC
# MAGIC A made-up city is released with user-level differential privacy, then asked questions. On Databricks, install
# MAGIC the wheel on the cluster and say in the widgets above where the configuration is (`../conf/demo.yaml`, as seen
# MAGIC from this folder), in which volume the files of the release shall lie (`/Volumes/main/vdr/releases`), and in
# MAGIC which schema its tables (`main.vdr`). Elsewhere this file runs as it is, from the repository's root:
# MAGIC `python notebooks/quickstart.py`.

# COMMAND ----------

from vdr_spark import Box, Publisher, register_views

widgets = getattr(globals().get("dbutils"), "widgets", None)  # of Databricks; plain Python and Jupyter have none


def parameter(name: str, default: str) -> str:
    """Return what the widget of that name says, by a person or a job; without widgets, the default."""
    if widgets is None:
        return default
    widgets.text(name, default)  # leaves alone what was given already
    return str(widgets.get(name))


conf = parameter("conf", "conf/demo.yaml")
volume = parameter("volume", "")  # empty: where the configuration says
schema = parameter("schema", "")  # empty: tables in the folder of the release
overrides = [f"output={volume}/demo", f"input.path={volume}/demo/pings", "single_writer=true"] if volume else []
overrides += [f"tables={schema}"] if schema else []

publisher = Publisher.from_yaml(conf, *overrides)  # takes the session that is there, or starts one when it is needed

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
# MAGIC ## A look at it
# MAGIC A map of one slice, by its number or a moment. Then the report: promise, budget, maps, accuracy, hot spots, from
# MAGIC the released tables and the ledger alone. `report.save("report.html")` writes it as one file, for those who
# MAGIC approve it. On a machine of your own, `release.explore()` is a page to play with.

# COMMAND ----------

noon = release.map(release.grid.slices // 2)
print(noon)
noon

# COMMAND ----------

report = publisher.report()
print(report)
report

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
