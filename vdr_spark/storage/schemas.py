"""The Delta tables: their names, what their columns mean, and what they refuse. Known without Spark."""

from __future__ import annotations

from dataclasses import dataclass

VERSION_PROPERTY = "vdr.schema_version"
"""The table property that says which version of its columns a table has; a table without it is of version 1."""


@dataclass(frozen=True)
class Table:
    """One table: columns as (name, type, comment), CHECK constraints by name, what its files are split by.

    A column is NOT NULL unless it is listed as optional, where a table has such a list. `version` goes up with every
    change of the columns or of what they mean, `later` says with which version a column came that was not there from
    the first; `storage.versions` says what becomes of tables of other versions.
    """

    name: str
    comment: str
    columns: tuple[tuple[str, str, str], ...]
    constraints: dict[str, str]
    partition: str | None = None
    optional: tuple[str, ...] | None = None  # None: all of them
    version: int = 1
    later: tuple[tuple[str, int], ...] = ()

    @property
    def properties(self) -> dict[str, str]:
        """What Delta keeps of the table beside its columns: append-only, its rules, its version."""
        rules = {f"delta.constraints.{rule}": text for rule, text in self.constraints.items()}
        return {"delta.appendOnly": "true", **rules, VERSION_PROPERTY: str(self.version)}

    @property
    def names(self) -> list[str]:
        return [name for name, _, _ in self.columns]

    @property
    def schema(self) -> str:
        """The columns as Spark's DDL writes them."""
        return ", ".join(f"{name} {kind}{self.rule(name)}" for name, kind, _ in self.columns)

    def later_than(self, version: int) -> list[str]:
        """Return the columns that came after a version, and may be missing from a table of it."""
        return [name for name, since in self.later if since > version]

    def rule(self, column: str) -> str:
        """Return what DDL says after a column's type: that it is never null, or nothing."""
        return "" if self.optional is None or column in self.optional else " NOT NULL"


LEDGER = Table(
    "ledger",
    "What was granted, reserved and spent: one row per entry, written before any data are read, never changed.",
    (
        ("sequence", "BIGINT", "number of the entry; a number is given out once"),
        ("dataset", "STRING", "whose people it protects"),
        ("draw_id", "STRING", "the draw it is for; empty for a grant or a cap"),
        ("state", "STRING", "granted, capped, reserved, spent or refused"),
        ("epsilon", "STRING", "amount in pure epsilon, exact, as a decimal or a fraction; null where it is in rho"),
        ("recorded_at", "TIMESTAMP", "when"),
        ("configuration_hash", "STRING", "SHA-256 of the whole configuration"),
        ("entry_hash", "STRING", "SHA-256 of this entry and the one before it: a chain that shows edits"),
        (
            "purpose",
            "STRING",
            "of a draw: cells, total (the number of all pings) or sizes (a histogram of pings per user)",
        ),
        ("window_seconds", "BIGINT", "of a cap: the stretch of time in which no more than its amount may be spent"),
        ("tensor_sha256", "STRING", "of a spent draw: SHA-256 of the noisy numbers that were stored"),
        ("identity_sha256", "STRING", "of a draw: SHA-256 of what it depends on; its id shows the beginning"),
        ("rho", "STRING", "amount in rho of zero-concentrated privacy, exact; null where it is in epsilon"),
        ("delta", "STRING", "of a grant in rho: the delta at which people are told an epsilon of all that is spent"),
    ),
    {"known_state": "state IN ('granted', 'capped', 'reserved', 'spent', 'refused')", "counted": "sequence >= 1"},
    version=2,  # before: pure epsilon alone
    later=(("rho", 2), ("delta", 2)),
)

NOISY_SLICES = Table(
    "noisy_slices",
    "Time slices with their noise, the only thing that later stages read. For private use; safe where protected.",
    (
        ("draw_id", "STRING", "the draw, as in the ledger"),
        ("slice", "INT", "number of the time slice; those of a second region follow those of the first"),
        ("counts", "BINARY", "M * M noisy counts, little-endian, rows from south to north, each from west to east"),
        ("bytes_per_count", "INT", "width of each of them: 2, 4 or 8, the narrowest that holds the slice"),
        ("units_per_ping", "BIGINT", "of what the counts count: 1, or more where pings have weights"),
        ("protected", "BOOLEAN", "false: the noise came from a test seed, anyone can take it away again"),
    ),
    {"slice_number": "slice >= 0", "known_width": "bytes_per_count IN (2, 4, 8)"},
    partition="draw_id",
)

RELEASES = Table(
    "releases",
    "One row per published release: what was promised, spent and done.",
    (
        ("release_id", "STRING", "names the release in `cells`"),
        ("draw_id", "STRING", "the draw it is made from, as in the ledger"),
        ("region", "STRING", "name of its box, where the draw has several; null where it has one"),
        ("dataset", "STRING", "whose budget was spent"),
        ("created", "TIMESTAMP", "when it was published"),
        ("protected", "BOOLEAN", "false: made with a test seed, protects nobody"),
        ("period_start", "TIMESTAMP", "start of the first slice"),
        ("period_end", "TIMESTAMP", "end of the last slice"),
        ("slice_seconds", "INT", "length of a slice"),
        ("slices", "INT", "T, number of slices"),
        ("cells_per_side", "INT", "M, rows and columns of the grid"),
        ("south", "DOUBLE", "southern edge of the box, degrees"),
        ("west", "DOUBLE", "western edge of the box, degrees"),
        ("north", "DOUBLE", "northern edge of the box, degrees; not part of it"),
        ("east", "DOUBLE", "eastern edge of the box, degrees; not part of it"),
        ("privacy_unit", "STRING", "who is protected"),
        ("mechanism", "STRING", "what noise was added"),
        ("epsilon", "STRING", "privacy loss: exact where `rho` is null, else what rho is at `delta`, rounded up"),
        ("k", "BIGINT", "the bound of a user: pings kept, or in sum; by `bounding: l2`, the largest L2 norm of counts"),
        ("bounding", "STRING", "how they were chosen"),
        ("total_pings", "BIGINT", "N, pings inside box and period: declared, or estimated for a share of the price"),
        ("model", "STRING", "denoiser; where `auto` chose it, the one it chose"),
        (
            "estimated_rmse",
            "DOUBLE",
            "of a cell's count of kept pings, from the noisy tensor alone; null: too small to tell",
        ),
        ("noisy_total", "DOUBLE", "sum of the noisy counts, in kept pings"),
        ("noisy_total_deviation", "DOUBLE", "standard deviation of the noise in it"),
        ("slices_told", "INT", "slices whose noisy sums stand out from their noise by three deviations"),
        (
            "noise_deviation",
            "DOUBLE",
            "of one cell without denoising, in released pings: q of a box is this * sqrt(cells)",
        ),
        (
            "sum_errors",
            "ARRAY<STRUCT<side: INT, slices: INT, spread: DOUBLE, clump: DOUBLE>>",
            "of sums over squares of so many cells a side and so many slices: with s = count / released_total, u = "
            "spread * count / q, v = q * q * u / (1 + u) and w = clump * count * (1 + clump / (count + clump / 50)), "
            "the variance is pow(1 - s, 2) * v + s * s * (pow(sum_deviation, 2) - v + pow(total_deviation, 2)) + "
            "(1 - s) * w, and v + w at least the sum of squared deviations; null: cells err independently",
        ),
        (
            "released_total",
            "DOUBLE",
            "what all cells add up to: N, or the region's share of it; null: not scaled",
        ),
        ("sum_deviation", "DOUBLE", "how far all cells together were off before they were scaled to that"),
        (
            "total_deviation",
            "DOUBLE",
            "how well that is known itself: 0 where N is declared and the draw has one region",
        ),
        ("gamma", "DOUBLE", "factor from pings kept to all pings"),
        ("kappa", "DOUBLE", "share of a cell's deviation from what was expected that is released"),
        ("code_version", "STRING", "of vdr-spark"),
        ("configuration_hash", "STRING", "SHA-256 of the whole configuration"),
        ("statement", "STRING", "the privacy statement, JSON"),
        ("cells_sha256", "STRING", "SHA-256 of the released counts and deviations, as float32 in order of the cells"),
        ("ledger_entry", "BIGINT", "number of the ledger's entry that says the draw was spent"),
        ("ledger_entry_hash", "STRING", "its hash: a ledger that was replaced does not have it"),
        ("rho", "STRING", "privacy loss in rho of zero-concentrated privacy, exact; null where it is pure epsilon"),
        ("delta", "STRING", "with rho: the delta at which `epsilon` holds, exact; null where it is pure"),
        ("series", "STRING", "name of the series that it is a window of; null where it is of none"),
        ("window_name", "STRING", "of a series: which window, as 2020-W05"),
        ("supersedes", "STRING", "of a correction: the draw_id whose releases are not to be used beside it"),
    ),
    {"positive_gamma": "gamma > 0"},
    version=4,
    later=(
        ("released_total", 2),
        ("sum_deviation", 2),
        ("total_deviation", 2),
        ("rho", 3),
        ("delta", 3),
        ("series", 4),
        ("window_name", 4),
        ("supersedes", 4),
    ),
)

WITHDRAWALS = Table(
    "withdrawals",
    "One row per release that was withdrawn. Its rows in `releases` and `cells` stay, and are not to be used any more.",
    (
        ("release_id", "STRING", "the release, as in `releases`"),
        ("withdrawn_at", "TIMESTAMP", "when"),
        ("reason", "STRING", "why, for those who used it"),
        ("code_version", "STRING", "of vdr-spark"),
    ),
    {"reason_given": "trim(reason) <> ''"},
    optional=(),
)

CELLS = Table(
    "cells",
    "Released cells: estimated pings of all users, one row per cell and slice, empty ones too.",
    (
        ("release_id", "STRING", "see `releases`"),
        ("slice", "INT", "number of the time slice"),
        ("slice_start", "TIMESTAMP", "when it begins, an instant; the statement names the zone of answers"),
        ("y", "INT", "row, from the south"),
        ("x", "INT", "column, from the west"),
        ("lat", "DOUBLE", "latitude of the centre of the cell, degrees; its pings lie anywhere in the cell"),
        ("lon", "DOUBLE", "longitude of the centre of the cell, degrees; its pings lie anywhere in the cell"),
        ("count", "FLOAT", "estimated number of pings, to three digits"),
        ("deviation", "FLOAT", "error bar, one standard deviation, to two digits; null where the model gives none"),
        ("protected", "BOOLEAN", "false: made with a test seed, protects nobody"),
    ),
    {
        "cell_number": "slice >= 0 AND y >= 0 AND x >= 0",
        "sane_deviation": "deviation IS NULL OR deviation >= 0",
    },
    partition="release_id",
    optional=("deviation",),
    version=2,  # before: perhaps counts and deviations in DOUBLE, and all columns nullable
)

PYRAMID = Table(
    "pyramid",
    "Sums of released cells over squares of cells and over days, equal to the cells to the last digit.",
    (
        ("release_id", "STRING", "see `releases`"),
        ("factor", "INT", "cells along each side of the square; at the northern and eastern edge there may be fewer"),
        ("slices", "INT", "slices summed: 1, or those of a day in the release's zone"),
        ("slice", "INT", "number of the first of them"),
        ("slice_start", "TIMESTAMP", "when it begins, an instant"),
        ("y", "INT", "row of the square, from the south; its first row of cells is y * factor"),
        ("x", "INT", "column of the square, from the west; its first column of cells is x * factor"),
        ("lat", "DOUBLE", "latitude of the centre of what it holds of the grid, degrees"),
        ("lon", "DOUBLE", "longitude of the centre of what it holds of the grid, degrees"),
        ("count", "DOUBLE", "estimated number of pings: the exact sum of its cells"),
        ("variance", "DOUBLE", "sum of its cells' squared deviations; no error bar: errors of cells are alike"),
        ("deviation", "FLOAT", "error bar of the sum, one standard deviation, by `releases.sum_errors`"),
        ("protected", "BOOLEAN", "false: made with a test seed, protects nobody"),
    ),
    {
        "block_number": "factor >= 1 AND slices >= 1 AND slice >= 0 AND y >= 0 AND x >= 0",
        "sane_deviation": "deviation IS NULL OR deviation >= 0",
    },
    partition="release_id",
    optional=("variance", "deviation"),
)

TABLE_NAMES = tuple(table.name for table in (LEDGER, NOISY_SLICES, RELEASES, CELLS, PYRAMID, WITHDRAWALS))
