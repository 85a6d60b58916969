"""`vdr draw` plots a published release from its tables, without Spark, and says where the pictures are."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.test_app import call
from tests.cli.test_query import arguments as arguments
from tests.cli.test_query import heavy_modules
from vdr_spark.cli.stages import _say_published
from vdr_spark.config import ReleaseConfig
from vdr_spark.plan import make_plan

Small = Callable[..., ReleaseConfig]


def test_pictures_lie_beside_the_tables(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("draw", *arguments) == 0
    printed = capsys.readouterr().out
    drawn = sorted(tmp_path.glob("out/pictures/*/*.png"))
    assert [path.name for path in drawn] == ["day.png", "period.png", "slices.png"]
    assert all(str(path) in printed for path in drawn)
    assert "There is no map of the error: temporal+fusion gives no error bars." in printed


def test_it_starts_no_spark(arguments: list[str]) -> None:
    heavy = heavy_modules("draw", *arguments).split()
    assert not {"pyspark", "delta", "torch", "petastorm"} & set(heavy)
    assert "matplotlib" in heavy


def test_what_is_not_published_is_a_sentence(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("draw", *arguments, "--release", "another") == 2
    assert "release another is not published" in capsys.readouterr().err
    assert call("draw", *arguments, "--set", f"output={tmp_path}/elsewhere") == 2
    assert "nothing is published" in capsys.readouterr().err


def test_a_release_says_by_which_command_it_is_drawn(small_config: Small, capsys: pytest.CaptureFixture[str]) -> None:
    plan = make_plan(small_config())
    _say_published(plan, replace(plan.regions[0], name="dallas"), Path("a b.yaml"), ["privacy.k=3"])
    assert "vdr draw 'a b.yaml' --region dallas --set=privacy.k=3" in capsys.readouterr().out
