"""Pings come from one place, and settings that mean nothing there are refused in words."""

import re
from typing import Any

import pytest
from pydantic import ValidationError

from vdr_spark.config.settings import InputSettings


@pytest.mark.parametrize(
    ("given", "location"),
    [
        ({"path": "/data/pings"}, "path /data/pings"),
        ({"table": "main.mobility.pings-2020"}, "table main.mobility.pings-2020"),
        ({"table": "pings", "format": None, "header": True, "layout": "veraset"}, "table pings"),
        ({"dataframe": "trips", "trust_plan": True}, "DataFrame trips"),
    ],
)
def test_one_place(given: dict[str, Any], location: str) -> None:
    assert InputSettings.model_validate(given).location == location


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "not none"),
        ({"path": "a", "table": "b"}, "not `path` and `table`"),
        ({"table": "b", "dataframe": "c"}, "not `table` and `dataframe`"),
        ({"table": "a.b.c.d"}, "table"),
        ({"table": "a..b"}, "table"),
        ({"table": "delta.`/data`"}, "table"),
        ({"table": "pings; drop table pings"}, "table"),
        ({"dataframe": "Trips!"}, "dataframe"),
        ({"path": "a", "trust_plan": True}, "`trust_plan` is said of the plan"),
        ({"table": "b", "format": "delta"}, "`format` is about files, and the pings come from table b"),
        ({"table": "b", "header": False}, "`header` is about files"),
        ({"dataframe": "c", "separator": ";"}, "`separator` is about files, and the pings come from DataFrame c"),
        ({"dataframe": "c", "reader": "direct"}, "`reader: direct` is about files"),
        ({"table": "b", "layout": "cabspotting"}, "`layout: cabspotting` is about files"),
    ],
)
def test_anything_else_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(words)):
        InputSettings.model_validate(given)
