# Databricks notebook source
# MAGIC %md
# MAGIC # Compare releases, and choose k
# MAGIC
# MAGIC Of every user at most *k* pings are counted. A small k loses the pings of busy users, a large one needs more
# MAGIC noise, k/ε in every cell. Which is better depends on who the users are, and on how large the boxes are that
# MAGIC people will ask about. **Every k that is tried on real pings is a draw of its own, and is paid for.** So try it
# MAGIC where it costs nothing: on a generated city of the same size, as here. Then release once.
# MAGIC
# MAGIC From the repository's root, after `make demo`: `python notebooks/choose_k.py`. On Databricks say in the widgets
# MAGIC where the configuration and its pings are.

# COMMAND ----------

from statistics import median

from vdr_spark import Box, Publisher

widgets = getattr(globals().get("dbutils"), "widgets", None)  # of Databricks; plain Python and Jupyter have none


def parameter(name: str, default: str) -> str:
    """Return what the widget of that name says, by a person or a job; without widgets, the default."""
    if widgets is None:
        return default
    widgets.text(name, default)  # leaves alone what was given already
    return str(widgets.get(name))


conf = parameter("conf", "conf/demo.yaml")
output = parameter("output", "out/choose_k")
epsilon = Publisher.from_yaml(conf).config.privacy.epsilon
ks = [int(k) for k in parameter("k", "20,160").split(",")]

# COMMAND ----------

# MAGIC %md
# MAGIC ## One release for each k
# MAGIC Each is a draw, so the budget is that of all of them. What is done is not done again.

# COMMAND ----------


def publisher_of(k: int) -> Publisher:
    """Return the demo's configuration with another k, in a folder and a ledger of its own."""
    alike = ["name=choose-k", "dataset=choose-k", f"output={output}", f"privacy.budget={epsilon * len(ks)}"]
    return Publisher.from_yaml(conf, *alike, f"privacy.k={k}", "denoise.model=ridge")


releases = {}
for k in ks:
    publisher = publisher_of(k)
    publisher.synthesize()  # the city of `make demo`, if it is not there yet
    releases[k] = publisher.release()
print(publisher.budget)

# COMMAND ----------

# MAGIC %md
# MAGIC ## How large the error bars are
# MAGIC A release knows its own errors, from the noisy counts alone: the noise, and the pings that bounding has missed.
# MAGIC No truth is looked at. Boxes lie around the 25 busiest cells of the first release.

# COMMAND ----------

first = releases[ks[0]]
grid = first.grid
busiest = first.counts.sum(axis=0).ravel().argsort()[::-1][:25]
places = [
    (grid.latitudes()[cell // grid.cells_per_side], grid.longitudes()[cell % grid.cells_per_side]) for cell in busiest
]


def relative_error(k: int, side_m: float) -> float:
    """Return the median over the places of a box's error bar, of its count, in the slice that is busiest."""
    release = releases[k]
    slot = int(release.counts.sum(axis=(1, 2)).argmax())
    moments = (grid.slice_start(slot), grid.slice_start(slot + 1))
    boxes = [_inside(Box.around(lat, lon, side_m)) for lat, lon in places]
    answers = [release.range_count(box, *moments) for box in boxes]
    return median(answer.deviation / max(answer.count, 1e-9) for answer in answers)


def _inside(box: Box) -> Box:
    """Return the part of a box that was released."""
    whole = grid.box
    return Box(
        max(box.south, whole.south), max(box.west, whole.west), min(box.north, whole.north), min(box.east, whole.east)
    )


sides = [side for side in (250, 500, 1000, 2000, 5000, 10_000) if side > grid.cell_metres[0]]
print("error bar of a box in one slice, of its count")
print("side of the box  " + "".join(f"{f'k = {k}':>10}" for k in ks))
for side in sides:
    print(f"{side:>13,} m  " + "".join(f"{100 * relative_error(k, side):>9.0f}%" for k in ks))

# COMMAND ----------

# MAGIC %md
# MAGIC ## How they look
# MAGIC The busiest slice of each. A release shows itself, too, and all of it by `release.report()`.

# COMMAND ----------

maps = {k: release.map(int(release.counts.sum(axis=(1, 2)).argmax())) for k, release in releases.items()}
for k, picture in maps.items():
    print(f"k = {k}: {picture.save(f'{output}/pictures/k{k}.png')}")
maps[ks[-1]]

# COMMAND ----------

# MAGIC %md
# MAGIC ## What to do with it
# MAGIC Take the k with the smaller errors *at the sizes that will be asked*, and write it into the configuration. What
# MAGIC a generated city cannot tell is how your users are: `vdr check` looks at them, for the operator only, and is not
# MAGIC private.
