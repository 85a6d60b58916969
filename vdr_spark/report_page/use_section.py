"""How to ask the release, and how to cite it: lines to copy."""

from __future__ import annotations

import shlex

from vdr_spark.grid import Box
from vdr_spark.release.release import Release
from vdr_spark.report_page.markup import Markup, element, paragraph, section
from vdr_spark.storage.sql_names import quote_full_name, quote_name, quote_text


def use_section(release: Release, conf: str | None) -> Markup:
    """Return lines in SQL, Python and for a shell, and a citation."""
    conf_words = conf or "CONF"
    return section(
        "use",
        "How to ask it",
        paragraph("Asking costs no privacy, however often: everything is computed from what is published already."),
        *_sample("Python", _python(release)),
        *_sample("SQL", _sql(release)),
        *_sample("On the command line", _shell(release, conf_words)),
        element("h3", "By a URL"),
        paragraph(
            element("code", f"vdr explore {shlex.quote(conf_words)}"),
            " serves the release on this machine, as a page to play with. Its address holds what is on screen: copy "
            "it, and it shows the same again.",
        ),
    )


def cite_section(release: Release) -> Markup:
    """Return a citation that says which release it was, and what was promised."""
    exact = release.statement.get("exact", {})
    sha256, version = exact.get("cells_sha256"), exact.get("code_version")
    promise = (
        f"{release.promise.parameters} at {release.promise.unit.level} level" if release.protected else "UNPROTECTED"
    )
    software = f"vdr-spark {version}" if version else "vdr-spark"
    cells = f" SHA-256 of its cells {sha256}." if sha256 else ""
    text = (
        f"Release {release.release_id} of dataset {release.dataset}, differentially private density of location pings "
        f"({promise}), published {release.created:%Y-%m-%d}, made with {software}.{cells}"
    )
    advice = paragraph("Say which release it was: another one of the same pings has other noise, and other counts.")
    return section("cite", "How to cite it", advice, element("blockquote", text))


def _sample(title: str, code: str) -> tuple[Markup, Markup]:
    return element("h3", title), element("pre", element("code", code), tabindex="0", aria_label=f"Lines of {title}")


def _box(release: Release) -> Box:
    """Return a square kilometre in the middle, or all of a smaller region."""
    box = release.grid.box
    middle = Box.around(*box.centre, 1000.0)
    fits = (
        middle.south >= box.south and middle.west >= box.west and middle.north <= box.north and middle.east <= box.east
    )
    return middle if fits else box


def _python(release: Release) -> str:
    box = _box(release)
    return (
        "from vdr_spark import Box, read_release\n\n"
        f"release = read_release({release.output or 'OUTPUT'!r}, release_id={release.release_id!r})  # without Spark\n"
        f"box = Box({box.south:.5f}, {box.west:.5f}, {box.north:.5f}, {box.east:.5f})  # south, west, north, east\n"
        "print(release.range_count(box))\n"
        f"print(release.nearest_hotspot({release.grid.box.centre[0]:.5f}, {release.grid.box.centre[1]:.5f}, 0))\n"
        "print(release.forecast(box, horizon=4))\n"
    )


def _sql(release: Release) -> str:
    box = _box(release)
    path = f"{release.output or 'OUTPUT'}/tables/cells"
    place = quote_full_name(f"{release.tables}.cells") if release.tables else f"delta.{quote_name(path)}"
    return (
        "SELECT slice_start, round(sum(count)) AS pings\n"
        f"FROM {place}\n"
        f"WHERE release_id = {quote_text(release.release_id)}\n"
        f"  AND lat BETWEEN {box.south:.5f} AND {box.north:.5f} AND lon BETWEEN {box.west:.5f} AND {box.east:.5f}\n"
        "GROUP BY slice_start ORDER BY slice_start\n\n"
        "-- with error bars: by the table functions of `vdr sql show CONF`, for Spark, Databricks, DuckDB and Trino\n"
    )


def _shell(release: Release, conf: str) -> str:
    box = _box(release)
    edges = f"--box={box.south:.5f},{box.west:.5f},{box.north:.5f},{box.east:.5f}"
    commands = (
        ["vdr", "query", "range", conf, edges, "--release", release.release_id],
        ["vdr", "export", conf, "--format", "geotiff", "--to", "city.tif", "--release", release.release_id],
        ["vdr", "audit", conf],
    )
    return "".join(shlex.join(command) + "\n" for command in commands)
