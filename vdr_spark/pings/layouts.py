"""What the known datasets look like on disk: one `Layout` each, chosen by `input.layout`.

A layout of your own is `vdr` with `input.columns` naming your columns. Text files without a header have their
columns by position; there they are called `_c0`, `_c1`, ... unless the layout gives them better names.
"""

from __future__ import annotations

from dataclasses import dataclass, field

CANONICAL = ("user_id", "lat", "lon", "ts")


@dataclass(frozen=True)
class Layout:
    """How the files of one dataset are written."""

    columns: dict[str, str]  # ours: theirs
    format: str = "parquet"
    fields: tuple[str, ...] = ()  # columns of text files by position; empty: as the header says
    csv: dict[str, str] = field(default_factory=dict)  # options of Spark's CSV reader
    timezone: str = "UTC"  # of timestamps that carry none
    time_skip: int = 0  # characters to leave out before `time_pattern` applies
    time_pattern: str | None = None  # of text that is neither ISO nor an epoch
    user_in_file_name: str | None = None  # a pattern whose first group is the user


# Quotes are ordinary characters in these files: a venue's name may hold a single one.
_PLAIN = {"quote": ""}

LAYOUTS: dict[str, Layout] = {
    # Our own: what `vdr synth` writes.
    "vdr": Layout(columns={name: name for name in CANONICAL}),
    # Veraset's movement feed; utc_timestamp counts seconds or milliseconds, or is a timestamp.
    "veraset": Layout(
        columns={"user_id": "caid", "lat": "latitude", "lon": "longitude", "ts": "utc_timestamp"},
    ),
    # SNAP's loc-gowalla and loc-brightkite check-ins: 2010-10-12T00:21:28Z.
    "gowalla": Layout(
        columns={"user_id": "user", "lat": "latitude", "lon": "longitude", "ts": "checkin_time"},
        format="csv",
        fields=("user", "checkin_time", "latitude", "longitude", "place_id"),
        csv=_PLAIN | {"sep": "\t"},
    ),
    # TSMC2014 of New York and Tokyo. The names of categories are Latin-1, every byte of which is a character.
    "foursquare": Layout(
        columns={"user_id": "user", "lat": "latitude", "lon": "longitude", "ts": "utc_time"},
        format="csv",
        fields=(
            "user",
            "venue",
            "category_id",
            "category",
            "latitude",
            "longitude",
            "offset_minutes",
            "utc_time",
        ),
        csv=_PLAIN | {"sep": "\t", "encoding": "ISO-8859-1"},
        # "Tue Apr 03 18:00:06 +0000 2012": Spark does not parse days of the week, so the first four go.
        time_skip=4,
        time_pattern="MMM dd HH:mm:ss Z yyyy",
    ),
    # San Francisco's cabs: one file a cab, new_<cab>.txt, latest ping first, seconds since 1970.
    "cabspotting": Layout(
        columns={"user_id": "cab", "lat": "latitude", "lon": "longitude", "ts": "time"},
        format="csv",
        fields=("latitude", "longitude", "occupied", "time"),
        csv=_PLAIN | {"sep": " "},
        user_in_file_name=r"^new_(.+?)\.txt(\.gz)?$",
    ),
    # Beijing's taxis, wall clock of Beijing, longitude first.
    "tdrive": Layout(
        columns={"user_id": "taxi", "lat": "latitude", "lon": "longitude", "ts": "time"},
        format="csv",
        fields=("taxi", "time", "longitude", "latitude"),
        csv=_PLAIN | {"sep": ","},
        timezone="Asia/Shanghai",
    ),
}
