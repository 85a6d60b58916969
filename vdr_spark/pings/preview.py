"""A look at the input without Spark and without a row: is it there, and is what it says of itself what we expect?

Of many files the first one found is looked at; whether all files are alike is found out before they are read
(`file_checks`). No file is named, since files may be named after people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from fsspec import AbstractFileSystem

from vdr_spark.config.settings import InputSettings
from vdr_spark.pings.csv_headers import MAX_LINE_BYTES, find_first_line
from vdr_spark.pings.layouts import CANONICAL, LAYOUTS
from vdr_spark.pings.parquet_types import (
    INSTANT,
    INSTANT_NS,
    NUMBER,
    TEXT,
    WALL_CLOCK,
    WALL_CLOCK_NS,
    WHOLE_NUMBER,
    classify_column,
    find_column,
    open_parquet,
)
from vdr_spark.storage.files import filesystem
from vdr_spark.storage.paths import absolute

_PACKED = (".gz", ".bz2", ".deflate", ".lz4", ".snappy", ".zst")  # a header in such a file is left to the reader
_EXPECTED = {
    "user_id": ("text or whole numbers", (TEXT, WHOLE_NUMBER)),
    "lat": ("numbers", (NUMBER, WHOLE_NUMBER, TEXT)),
    "lon": ("numbers", (NUMBER, WHOLE_NUMBER, TEXT)),
    "ts": (
        "timestamps, numbers counted from 1970, or text",
        (INSTANT, INSTANT_NS, WALL_CLOCK, WALL_CLOCK_NS, WHOLE_NUMBER, NUMBER, TEXT),
    ),
}


def preview_input(settings: InputSettings, is_to_be_generated: bool = False) -> list[str]:
    """Return what to mind about the input, in sentences; nothing where it looks right or only Spark can look."""
    if settings.path is None:
        return []
    try:
        fs, inside = filesystem(absolute(settings.path))
        if not fs.exists(inside):
            return [_explain_absence(settings.path, is_to_be_generated)]
        return list(_look_at_files(fs, inside, settings))
    except Exception as problem:  # of whatever kind: every store has its own, and explaining goes on without a look
        return [
            f"input.path: {settings.path} cannot be looked at from here ({type(problem).__name__}). Spark may reach it "
            "all the same; else mind the rights to read it, and fsspec's package for its store."
        ]


def find_absence(settings: InputSettings, is_to_be_generated: bool = False) -> str | None:
    """Return a sentence where nothing lies at the input's path; None where something does, or only Spark can tell."""
    if settings.path is None:
        return None
    try:
        fs, inside = filesystem(absolute(settings.path))
        return None if fs.exists(inside) else _explain_absence(settings.path, is_to_be_generated)
    except Exception:  # as above
        return None


def _explain_absence(path: str, is_to_be_generated: bool) -> str:
    if is_to_be_generated:
        return f"input.path: there is nothing at {path} yet; `vdr synth` generates the pings."
    return f"input.path: there is nothing at {path}; name a file or a folder that exists."


def _look_at_files(fs: AbstractFileSystem, path: str, settings: InputSettings) -> Iterator[str]:
    form, is_delta = settings.format or LAYOUTS[settings.layout].format, fs.exists(f"{path}/_delta_log")
    if is_delta and form != "delta":
        yield f"input.format: {settings.path} is a Delta table; set input.format: delta."
    elif form == "delta" and not is_delta:
        yield f"input.format: {settings.path} is no Delta table; if it holds such files, set it to parquet or csv."
    elif form != "delta":
        file = _find_first_file(fs, path)
        if file is None:
            yield f"input.path: {settings.path} holds no files; put the pings there."
        else:
            yield from (_look_at_parquet if form == "parquet" else _look_at_csv)(fs, file, settings)


def _find_first_file(fs: AbstractFileSystem, path: str) -> str | None:
    """Return some file of the input, as Spark chooses files: not those whose names begin with `_` or a dot."""
    if fs.isfile(path):
        return path
    for folder, _, files in fs.walk(path):
        for name in sorted(files):
            if not name.startswith(("_", ".")) and "/_" not in folder.removeprefix(path):
                return f"{folder}/{name}"
    return None


def _their_names(settings: InputSettings) -> dict[str, str]:
    given = {str(ours): theirs for ours, theirs in settings.columns.items()}
    return {ours: (LAYOUTS[settings.layout].columns | given)[ours] for ours in CANONICAL}


def _look_at_parquet(fs: AbstractFileSystem, file: str, settings: InputSettings) -> Iterator[str]:
    with fs.open(file, "rb") as opened:
        try:
            footer = open_parquet(opened)
            names = {ours: find_column(footer, theirs) for ours, theirs in _their_names(settings).items()}
            sorts = {ours: classify_column(footer, name) for ours, name in names.items() if name is not None}
        except pa.ArrowException:
            yield f"input.format: a file of {settings.path} is no Parquet file; set input.format to what it is."
            return
    yield from _miss_columns(names, file, settings, f"found {', '.join(f'`{n}`' for n in footer.schema_arrow.names)}")
    for ours, sort in sorts.items():
        yield from _judge_type(ours, names[ours] or "", sort, settings)


def _miss_columns(names: Mapping[str, str | None], file: str, settings: InputSettings, found: str) -> Iterator[str]:
    theirs = _their_names(settings)
    for ours, name in names.items():
        # A column may also come from the names of folders: user_id=1/part.parquet.
        if name is None and f"/{theirs[ours]}=" not in file:
            yield (
                f"input.columns: there is no column `{theirs[ours]}` for `{ours}` in the first file of {settings.path} "
                f"(layout {settings.layout}); {found}. Name your column, for example {ours}: my_{ours}."
            )


def _judge_type(ours: str, theirs: str, sort: str, settings: InputSettings) -> Iterator[str]:
    """Say what to mind about the type of a column: refused later, or read in a way that one should know."""
    where, (expected, accepted) = f"input: column `{theirs}` ({ours})", _EXPECTED[ours]
    if sort not in accepted and not (ours in ("lat", "lon") and sort.startswith("decimal")):
        yield f"{where} is kept as {sort}, and must be {expected}; name another column in input.columns, or convert it."
    elif ours in ("lat", "lon") and sort == WHOLE_NUMBER:
        yield f"{where} holds whole numbers; degrees have decimals. Millionths of a degree must be divided before."
    elif ours in ("lat", "lon") and sort == TEXT:
        yield f"{where} holds text, read row by row; what is no number is left out. `vdr check` tells how much that is."
    elif ours == "ts" and sort == TEXT:
        yield (
            f"{where} holds text, read row by row as 2020-01-07T06:00:00; what does not parse is left out. `vdr check` "
            "tells how much that is."
        )
    elif ours == "ts" and sort in (WHOLE_NUMBER, NUMBER):
        yield f"{where} holds numbers, taken for seconds, milliseconds, micro- or nanoseconds since 1970 by their size."
    elif ours == "ts" and sort in (WALL_CLOCK, WALL_CLOCK_NS) and settings.timezone is None:
        zone = LAYOUTS[settings.layout].timezone
        yield f"{where} holds times without a zone, and input.timezone is not set: they are read in {zone}."


def _look_at_csv(fs: AbstractFileSystem, file: str, settings: InputSettings) -> Iterator[str]:
    """Look for the names of columns in a header; never repeat it, since without a header it is a person's row."""
    if LAYOUTS[settings.layout].fields or not settings.header or file.endswith(_PACKED):
        return
    with fs.open(file, "rb") as opened:
        line = find_first_line(opened.read(MAX_LINE_BYTES + 1)) or b""
    fields = [field.strip().strip('"').lower() for field in line.decode("utf-8", "replace").split(settings.separator)]
    names = {ours: name if name.lower() in fields else None for ours, name in _their_names(settings).items()}
    found = (
        f"its first line has {len(fields)} fields, none of that name; if the files have no header, set input.header: "
        "false, and mind input.separator"
    )
    yield from _miss_columns(names, file, settings, found)
