"""Every mistake in settings is told in our words: pydantic's own never reach a person."""

import re
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from vdr_spark import ReleaseConfig
from vdr_spark.config import sentences
from vdr_spark.config.privacy import PrivacySettings
from vdr_spark.config.settings import GridSettings, Section
from vdr_spark.config.values import PATTERN_RULES
from vdr_spark.errors import InvalidConfig

Small = Callable[..., ReleaseConfig]
# Words of pydantic's that are not ours.
FOREIGN = re.compile(r"input should|unable to|valid (integer|number|string|bool|dict|list|tuple|date)|pattern|instance")
WRONG: tuple[Any, ...] = (
    *("", "many", "a b", "1.5", "\x00", "x" * 300, "2020-13-45", "1e400", "yes"),
    *(None, True, -1, 0, 1.5, 2**80, 10**30, float("nan"), float("inf"), -1e300, b"\xff", date(2020, 1, 1)),
    *([], [1], [None, None, None], ["a", 2], {}, {"a": 1}, {"A b": {}}, {1: 2}, (), object()),
)


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("grid.cells_per_side=many", "grid.cells_per_side: must be a whole number (received 'many')"),
        ("grid.cells_per_side=1.5", "grid.cells_per_side: must be a whole number (received 1.5)"),
        ("grid.cells_per_side=[1]", "grid.cells_per_side: must be a whole number (received [1])"),
        ("grid.cells_per_side=1", "grid.cells_per_side: must be at least 2 (received 1)"),
        ("grid.cells_per_side=9999", "grid.cells_per_side: must be at most 8192 (received 9999)"),
        ("grid=16", "grid: must be a section of `key: value` lines (received 16)"),
        ("grid.cels=16", "grid.cels: is not a known setting; remove it or mend its spelling"),
        ("region.side_m=wide", "region.side_m: must be a number (received 'wide')"),
        ("region.side_m=[1]", "region.side_m: must be a number (received [1])"),
        ("region.side_m=0", "region.side_m: must be greater than 0 (received 0)"),
        ("region.center=[.nan, 0]", "region.center.0: must be a number that is not infinite (received nan)"),
        ("region.center=3", "region.center: must be a list, such as [29.76, -95.37] (received 3)"),
        ("region.center=[3]", "region.center: must have one value more, such as [29.76, -95.37] (received [3])"),
        ("region.center=[3, 4, 5]", "region.center: must have at most 2 of them (received [3, 4, 5])"),
        ("denoise.vqvae.validation_share=1", "denoise.vqvae.validation_share: must be less than 1 (received 1)"),
        (
            "denoise.model=magic",
            "denoise.model: must be one of 'auto', 'identity', 'temporal', 'ridge', 'blindspot', "
            "'vqvae' or 'vae' (received 'magic')",
        ),
        (
            "denoise.candidates=ridge",
            "denoise.candidates: must be a list, such as [ridge, blindspot] (received 'ridge')",
        ),
        ("denoise.candidates=[]", "denoise.candidates: must have at least 1 of them (received [])"),
        ("denoise.fusion=perhaps", "denoise.fusion: must be true or false (received 'perhaps')"),
        ("denoise.fusion=[1]", "denoise.fusion: must be true or false (received [1])"),
        ("about.curator=3", "about.curator: must be text; put it in quotes (received 3)"),
        ("spark.conf={a: 3}", "spark.conf.a: must be text; put it in quotes (received 3)"),
        ("spark.conf=3", "spark.conf: must be a section of `key: value` lines (received 3)"),
        (
            "spark.delta_jars=[1]",
            "spark.delta_jars: must be `maven`, `provided`, or a list of jar files such as [a.jar, "
            "b.jar] (received [1])",
        ),
        (
            "spark.driver_memory=lots",
            "spark.driver_memory: must be megabytes or gigabytes, such as 800m or 12g (received 'lots')",
        ),
        (
            "period.start=soon",
            "period.start: must be a date or time such as 2020-01-07 or 2020-01-07T06:00 (received 'soon')",
        ),
        (
            "period.start=[1]",
            "period.start: must be a date or time such as 2020-01-07 or 2020-01-07T06:00 (received [1])",
        ),
        (
            "input.columns={colour: x}",
            "input.columns.colour: must be one of 'user_id', 'lat', 'lon' or 'ts' (received 'colour')",
        ),
        ("input.path=''", "input.path: must be a path or a URI, not empty"),
        ("dataset=Two Words", "dataset: must be a name of small letters a-z"),
    ],
)
def test_a_mistake_of_each_kind(small_config: Small, override: str, sentence: str) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        small_config(override)
    assert any(line.strip().startswith(sentence) for line in str(refusal.value).splitlines()), str(refusal.value)


def test_a_key_that_is_no_name(small_config: Small) -> None:
    regions = "regions={Big City: {center: [1, 1], side_m: 900}}"
    with pytest.raises(InvalidConfig, match=r"regions\.Big City: must be a name of small letters .*'Big City'"):
        small_config("region=null", "synth=null", regions)
    with pytest.raises(InvalidConfig, match="regions: must have at least 1 of them"):
        small_config("region=null", "synth=null", "regions={}")


def sections(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for field in model.model_fields.values():
        for kind in (field.annotation, *get_args(field.annotation)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from sections(kind)


@pytest.mark.parametrize("section", list(dict.fromkeys(sections(ReleaseConfig))), ids=lambda section: section.__name__)
def test_no_wrong_value_is_told_in_foreign_words(section: type[Section]) -> None:
    """Each setting of each section is given values of all sorts; whatever is refused, is refused in our words."""
    for name, field in section.model_fields.items():
        for value in WRONG:
            with pytest.raises(InvalidConfig) as refusal:
                section(**{field.alias or name: value, "colour": "blue"})
            told = [re.sub(r"\(received .*", "", line) for line in str(refusal.value).lower().splitlines()[1:]]
            assert not [line for line in told if FOREIGN.search(line)], told


def test_every_pattern_has_its_words() -> None:
    for section in sections(ReleaseConfig):
        for pattern in re.findall(r"pattern': ?'(.*?)'[,}]", str(section.model_json_schema())):
            assert pattern.encode().decode("unicode_escape") in PATTERN_RULES


def test_in_python_as_in_yaml() -> None:
    with pytest.raises(InvalidConfig, match=r"GridSettings is not valid:\n  cells_per_side: must be a whole number"):
        GridSettings(cells_per_side="many")
    with pytest.raises(InvalidConfig, match="k: must be a whole number"):
        PrivacySettings(epsilon=1, k=[], total_pings=3)
    with pytest.raises(InvalidConfig, match="must have keys that are words"):
        ReleaseConfig(name="a", dataset="b", output="c", grid={1: 2})


def test_a_kind_that_is_new_to_us_keeps_its_words() -> None:
    error = {"type": "unheard_of", "msg": "Value should rhyme", "loc": ("a",), "input": 3}
    assert sentences._describe(error) == "  a: value should rhyme (received 3)"
