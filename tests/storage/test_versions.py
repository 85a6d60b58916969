"""Tables of other schema versions: newer ones are refused, older ones are made ours where adding columns is enough."""

import pytest

from vdr_spark.errors import OtherVersion
from vdr_spark.storage.schemas import CELLS, LEDGER, NOISY_SLICES, RELEASES, VERSION_PROPERTY, WITHDRAWALS
from vdr_spark.storage.versions import find_missing, plain_type, require_known

FIRST = {name: plain_type(kind) for name, kind, _ in RELEASES.columns if name not in RELEASES.later_than(1)}
LATER = ["released_total", "sum_deviation", "total_deviation", "rho", "delta", "series", "window_name", "supersedes"]


def test_a_table_without_a_version_is_of_the_first() -> None:
    assert require_known("out", RELEASES, {"delta.appendOnly": "true"}) == 1
    assert require_known("out", RELEASES, RELEASES.properties) == RELEASES.version == 4


@pytest.mark.parametrize("said", ["5", "10", "0", "-1", "two", ""])
def test_a_version_that_is_not_known_is_refused_by_both_numbers(said: str) -> None:
    with pytest.raises(OtherVersion, match=rf"of schema version {said}, and .* versions up to 4: .* Upgrade vdr-spark"):
        require_known("out/tables/releases", RELEASES, {VERSION_PROPERTY: said})


def test_columns_that_came_later_are_missing_and_no_others() -> None:
    assert [name for name, _, _ in find_missing("out", RELEASES, 1, FIRST)] == LATER
    half = FIRST | {"released_total": "double"}  # a migration that was killed
    assert [name for name, _, _ in find_missing("out", RELEASES, 1, half)] == LATER[1:]
    assert find_missing("out", RELEASES, 1, {name: kind.upper() for name, kind, _ in RELEASES.columns}) == []


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"sum_errors": "array<struct<side:int,slices:int,spread:double,ceiling:double>>"}, "sum_errors"),
        ({"k": None}, "k"),
        ({"witness": "string"}, "witness"),
    ],
)
def test_more_than_columns_to_add_is_refused(change: dict[str, str | None], named: str) -> None:
    found = {name: kind for name, kind in (FIRST | change).items() if kind is not None}
    with pytest.raises(OtherVersion, match=rf"another version of this software \({named}\).*run `vdr publish` again"):
        find_missing("out", RELEASES, 1, found)


def test_cells_of_the_first_version_are_ours_only_if_they_are_as_narrow() -> None:
    kinds = {name: plain_type(kind) for name, kind, _ in CELLS.columns}
    assert find_missing("out", CELLS, 1, kinds) == []
    with pytest.raises(OtherVersion, match=r"\(count, deviation\)"):
        find_missing("out", CELLS, 1, kinds | {"count": "double", "deviation": "double"})


@pytest.mark.parametrize("table", [LEDGER, NOISY_SLICES, RELEASES, CELLS, WITHDRAWALS], ids=lambda table: table.name)
def test_a_column_that_came_later_may_be_null(table: object) -> None:
    assert not any(table.rule(name) for name in table.later_than(1))  # type: ignore[attr-defined]
    assert all(2 <= since <= table.version for _, since in table.later)  # type: ignore[attr-defined]
