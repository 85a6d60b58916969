"""docs/settings.md says what the settings say: `make settings` writes it anew."""

from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from tests.conftest import ROOT
from vdr_spark.config.reference import MARK, _find_section, describe_settings, renew_page
from vdr_spark.config.release import ReleaseConfig


def sections(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for field in model.model_fields.values():
        if section := _find_section(field):
            yield from sections(section)


def test_the_page_is_what_the_settings_say() -> None:
    page = (ROOT / "docs/settings.md").read_text()
    assert renew_page(page) == page, "run `make settings`"


def test_every_setting_is_described() -> None:
    for section in sections(ReleaseConfig):
        assert section.__doc__
        for name, field in section.model_fields.items():
            assert field.description, f"{section.__name__}.{name}"


@pytest.mark.parametrize(
    "row",
    [
        "## `privacy.estimate_total`",
        "| `slice` | length of time, as `30min`, `3h`, `1d`, `1w` | `3h` |",
        "| `cells_per_side` | whole number, at least 2, at most 8,192 | `576` |",
        "| `epsilon` | exact number, as `6`, `0.2` or `1/3` |  | price of the whole release",
        "| `lambda` | number, above 0, at most 1 |  |",
        "| `total_pings` | whole number, also as `5e7`, at least 1 |  | N, the number of pings inside box and period",
        "| `encryption` | true or false | `true` |",
        "| `regions` | sections by name |  |",
        "| `validation_share` | number, at least 0, below 1 | `0.1` |",
    ],
)
def test_how_settings_are_told(row: str) -> None:
    assert row in describe_settings()


def test_what_is_written_by_hand_stays() -> None:
    assert renew_page(f"By hand.\n{MARK}\nold").startswith(f"By hand.\n{MARK}\n\n## The file")
    with pytest.raises(ValueError, match="must hold the line"):
        renew_page("a page without the mark")
