# Databricks notebook source
# MAGIC %md
# MAGIC # Reading a release, in SQL
# MAGIC
# MAGIC For those who ask and do not publish: nothing but the released tables is read, and asking costs no privacy,
# MAGIC however often. On Databricks only `SELECT` on the three tables, or `READ VOLUME` on their volume, is needed; no
# MAGIC package of ours. Say in the widgets where the tables are: a path (``delta.`/Volumes/.../tables/cells` ``) or a
# MAGIC name (`main.vdr.cells`). Elsewhere this file reads what `make demo` made: `python notebooks/analysts.py`.

# COMMAND ----------

from pathlib import Path

widgets = getattr(globals().get("dbutils"), "widgets", None)  # of Databricks; plain Python and Jupyter have none


def parameter(name: str, default: str) -> str:
    """Return what the widget of that name says, by a person or a job; without widgets, the default."""
    if widgets is None:
        return default
    widgets.text(name, default)  # leaves alone what was given already
    return str(widgets.get(name))


demo = Path("out/demo/tables").absolute()
cells = parameter("cells", f"delta.`{demo}/cells`")
releases = parameter("releases", f"delta.`{demo}/releases`")
withdrawals = parameter("withdrawals", f"delta.`{demo}/withdrawals`")

if "spark" not in globals():  # Databricks has one
    from vdr_spark import spark_session

    spark = spark_session()

# COMMAND ----------

# MAGIC %md
# MAGIC ## Which releases there are
# MAGIC `protected` must be true. `epsilon` is what each person's history was paid with; the statement says it in full.
# MAGIC What was withdrawn is not to be used any more, and is left out.

# COMMAND ----------

spark.sql(f"""
    SELECT release_id, region, protected, epsilon, period_start, period_end, cells_per_side, slices, estimated_rmse
    FROM {releases} LEFT ANTI JOIN {withdrawals} USING (release_id) ORDER BY release_id
""").show(truncate=False)

# COMMAND ----------

# MAGIC %md
# MAGIC ## One release
# MAGIC The tables hold every release, and adding several up would count people several times. So name one; with none
# MAGIC given, this notebook takes the only one there is.

# COMMAND ----------

chosen = parameter("release_id", "")
if not chosen:
    usable = spark.sql(f"SELECT release_id FROM {releases} LEFT ANTI JOIN {withdrawals} USING (release_id)")
    [(chosen,)] = usable.collect()  # fails where there are several: name one
spark.sql(f"""
    SELECT * FROM {cells} LEFT ANTI JOIN {withdrawals} USING (release_id)
    WHERE release_id = '{chosen}' AND protected
""").createOrReplaceTempView("released_cells")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Where and when
# MAGIC Times are instants. Counts are estimates: `deviation` is the error of one cell, and errors of sums do not simply
# MAGIC add up (docs/denoising.md has the query that tells them).

# COMMAND ----------

spark.sql("""
    SELECT slice_start, round(sum(count)) AS pings
    FROM released_cells
    GROUP BY slice_start ORDER BY pings DESC LIMIT 3
""").show(truncate=False)

# COMMAND ----------

spark.sql("""
    SELECT round(lat, 4) AS lat, round(lon, 4) AS lon, round(sum(count)) AS pings
    FROM released_cells
    GROUP BY lat, lon ORDER BY pings DESC LIMIT 5
""").show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## A map
# MAGIC Rows and columns are numbered from the south-west, so that a sum by `y` and `x` is a picture.

# COMMAND ----------

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import AsinhNorm

sums = spark.sql("SELECT y, x, sum(count) AS pings FROM released_cells GROUP BY y, x").collect()
side = 1 + max(row.y for row in sums)
city = np.zeros((side, side))
for row in sums:
    city[row.y, row.x] = row.pings
figure, axes = plt.subplots(figsize=(6, 5))
bend = AsinhNorm(linear_width=max(city.max() / 100, 1e-9), vmin=0)  # like a logarithm, but straight around zero
picture = axes.imshow(city, origin="lower", cmap="inferno", norm=bend)
axes.set_axis_off()
axes.set_title(f"{city.sum():,.0f} pings of release {chosen}", loc="left", fontsize=9)
figure.colorbar(picture, label="pings per cell")
figure

# COMMAND ----------

# MAGIC %md
# MAGIC ## A day
# MAGIC The mean of slices by the hour at which they begin, in UTC.

# COMMAND ----------

spark.sql("""
    SELECT hour(slice_start) AS hour, round(avg(pings)) AS pings
    FROM (SELECT slice_start, sum(count) AS pings FROM released_cells GROUP BY slice_start)
    GROUP BY hour ORDER BY hour
""").show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## What was promised
# MAGIC The statement of the release, as JSON.

# COMMAND ----------

spark.sql(f"SELECT statement FROM {releases} WHERE release_id = '{chosen}'").show(truncate=300)
