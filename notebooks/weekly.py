# Databricks notebook source
# MAGIC %md
# MAGIC # Week after week
# MAGIC
# MAGIC The same people, published every week. A *series* is one configuration for all of its windows: how long they
# MAGIC are, when each is due, what each may cost. Here the last weeks of a made-up city are released; then the
# MAGIC budget is looked at, all weeks are asked as one, and a week whose pings came late is corrected.
# MAGIC
# MAGIC From the repository's root: `python notebooks/weekly.py`, a few minutes. On Databricks say in the widgets
# MAGIC where the two configurations are (`../conf/weekly.yaml`, as seen from this folder), and in which folder of a
# MAGIC volume all files shall lie. docs/series.md says how series work.

# COMMAND ----------

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from vdr_spark import Publisher, list_releases, read_release, register_series
from vdr_spark.cli.app import app
from vdr_spark.cli.console import run

widgets = getattr(globals().get("dbutils"), "widgets", None)  # of Databricks; plain Python and Jupyter have none


def parameter(name: str, default: str) -> str:
    """Return what the widget of that name says, by a person or a job; without widgets, the default."""
    if widgets is None:
        return default
    widgets.text(name, default)  # leaves alone what was given already
    return str(widgets.get(name))


conf, city = parameter("conf", "conf/weekly.yaml"), parameter("city", "conf/demo.yaml")
weeks, pings = int(parameter("weeks", "3")), int(parameter("pings", "1000000"))  # so many pings in each
model = parameter("model", "ridge")  # a regression; `auto` tries networks, too
zone = "Etc/GMT+6"
due = datetime.now(ZoneInfo(zone)) - timedelta(days=2)  # a week is due two days after its end: phones may be late
end = due.date() - timedelta(days=due.weekday())
mondays = [end - timedelta(weeks=back) for back in range(weeks, 0, -1)]
output = str(Path(parameter("output", "out/weekly_notebook"), str(mondays[0])).absolute())

# COMMAND ----------

# MAGIC %md
# MAGIC ## Weeks of pings
# MAGIC A city is generated over all of them, so that the same people are in each. Where the pings are your own,
# MAGIC leave this out: the table may go on growing while its weeks are released.

# COMMAND ----------


def generate(folder: str, number: int, seed: int, since: object) -> Publisher:
    """Write made-up pings from a Monday to the end, unless they are there; its people have few pings each."""
    people = [f"synth.pings={number}", f"synth.seed={seed}", "synth.exponent=4", "synth.shift=60"]
    period = [f"period.start={since}", f"period.end={end}", f"period.timezone={zone}"]
    publisher = Publisher.from_yaml(city, f"input.path={folder}", *people, *period)
    publisher.synthesize()
    return publisher


spark = generate(f"{output}/pings", weeks * pings, 7, mondays[0]).spark

# COMMAND ----------

# MAGIC %md
# MAGIC ## What a week costs, and what all weeks mean together
# MAGIC Nothing is read yet. Prices follow from the schedule: `rho: 1` for all weeks of a year together, of which each
# MAGIC week keeps a quarter of its share back for one correction. So little is told best in large cells and long
# MAGIC slices.

# COMMAND ----------

settings = [
    f"input.path={output}/pings",
    f"output={output}",
    f"privacy.total_pings={pings}",
    "grid.cells_per_side=16",
    "period.slice=6h",
    f"series.first={mondays[0]}",
    "series.correction_share=1/4",
    f"denoise.model={model}",
]
settings += ["single_writer=true"] if output.startswith("/Volumes/") else []  # no other run writes there meanwhile


def vdr(*arguments: str) -> None:
    """Run a command of `vdr` in this process, so that it takes the Spark session that is there."""
    code = run(app, [*arguments, *(part for setting in settings for part in ("--set", setting))])
    if code != 0:
        raise RuntimeError(f"vdr {' '.join(arguments)} ended with exit code {code}; the lines above say why")


vdr("explain", conf)

# COMMAND ----------

# MAGIC %md
# MAGIC ## The first week
# MAGIC `--next` is the first window that is due and not published. A window is never paid for twice.

# COMMAND ----------

vdr("release", conf, "--next", "--yes")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Where the series stands
# MAGIC Which windows are published or due, what was spent, what is left, and until when that lasts.

# COMMAND ----------

vdr("series", "status", conf)

# COMMAND ----------

# MAGIC %md
# MAGIC ## All that are due
# MAGIC The line for a scheduler: safe to start twice, and after a crash. Windows are released in order, and each is
# MAGIC evidence for those after it (`series.past`), which costs no privacy.

# COMMAND ----------

vdr("release", conf, "--until", "today", "--yes")
vdr("series", "status", conf)

# COMMAND ----------

# MAGIC %md
# MAGIC ## All weeks as one
# MAGIC `windows` has a row for each window that may be used, `series_cells` their cells, nothing twice.

# COMMAND ----------

register_series(spark, output)
spark.sql("""
    SELECT window_name, is_correction, round(noisy_total) AS pings_kept, round(noisy_total_deviation) AS deviation,
           round(estimated_rmse, 2) AS rmse_of_a_cell, slices_told, slices
    FROM windows ORDER BY window_name
""").show(truncate=False)

# COMMAND ----------

# MAGIC %md
# MAGIC Every week adds up to the N that was declared for it: counts say how a week's pings are spread. How many were
# MAGIC kept in a week is the noisy total above. Windows are independent draws, so the variances of their sums add up.

# COMMAND ----------

center = "y BETWEEN 4 AND 11 AND x BETWEEN 4 AND 11"
spark.sql(f"""
    SELECT window_name, round(sum(count)) AS pings, round(sum(count) FILTER (WHERE {center})) AS in_the_center
    FROM series_cells GROUP BY window_name ORDER BY window_name
""").show(truncate=False)

# COMMAND ----------

# MAGIC %md
# MAGIC ## A curve over the weeks, and a map of each

# COMMAND ----------

import matplotlib.pyplot as plt
import numpy as np

curve = spark.sql("""
    SELECT window_name, slice_start, sum(count) AS pings
    FROM series_cells GROUP BY window_name, slice_start ORDER BY slice_start
""").collect()
cells = spark.sql("SELECT window_name, y, x, sum(count) AS pings FROM series_cells GROUP BY ALL").collect()
names = sorted({row.window_name for row in curve})
maps = np.zeros((len(names), 16, 16))
for row in cells:
    maps[names.index(row.window_name), row.y, row.x] = row.pings

figure = plt.figure(figsize=(9, 5.5), layout="constrained")
upper, lower = figure.subfigures(2, 1, height_ratios=(1, 1.1))
axes = upper.subplots()
axes.plot([row.slice_start for row in curve], [row.pings for row in curve], color="#3b5b92")
for name in names[1:]:
    axes.axvline(min(row.slice_start for row in curve if row.window_name == name), color="0.75", linewidth=0.8)
axes.set_ylim(bottom=0)
axes.set_ylabel("pings in 6 h")
axes.tick_params(labelsize=8)
axes.spines[["top", "right"]].set_visible(False)
for name, counts, place in zip(names, maps, lower.subplots(1, len(names)), strict=True):
    picture = place.imshow(counts, origin="lower", cmap="inferno", vmin=0, vmax=maps.max())
    place.set_title(name, fontsize=9)
    place.set_axis_off()
lower.colorbar(picture, ax=lower.axes, label="pings in a week")
figure.savefig(f"{output}/weeks.png", dpi=120)
figure

# COMMAND ----------

# MAGIC %md
# MAGIC ## A correction
# MAGIC Pings of the last week came late: a tenth as many again. What is published is never changed. What comes late
# MAGIC is left out for ever, unless the week kept something back: then it is drawn anew, with all pings that are
# MAGIC there now, for that quarter of the price, so with more noise. The reason is public.

# COMMAND ----------

late = generate(f"{output}/late", pings // 10, 8, mondays[-1]).config.input.path
latest = f"{mondays[-1]:%G-W%V}"
if not any("-c-" in record.release_id for record in list_releases(output)):  # run again, nothing is added twice
    spark.read.parquet(str(late)).write.mode("append").parquet(f"{output}/pings")
    vdr("release", conf, "--window", latest, "--correct", "phones of one vendor came late", "--yes")
vdr("series", "status", conf)

# COMMAND ----------

# MAGIC %md
# MAGIC The correction stands for its week from now on; what it supersedes stays in the table, and both count in the
# MAGIC sum.

# COMMAND ----------

register_series(spark, output)
spark.sql("SELECT window_name, is_correction, release_id FROM windows ORDER BY window_name").show(truncate=False)

# COMMAND ----------

# MAGIC %md
# MAGIC ## One week, like any release
# MAGIC It shows itself, answers, has a report and an audit of its own.

# COMMAND ----------

week = Publisher.from_yaml(conf, *settings, f"window={mondays[0]:%G-W%V}", spark=spark)
release = read_release(output, week.plan.release_id(week.plan.regions[0]))
print(release)
print(week.audit())
release
