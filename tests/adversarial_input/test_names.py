"""Columns and folders whose names are SQL, markup or half a path: quoted, and nothing else happens."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.adversarial_input.pings import NO_NOISE, READERS, Small, counted, places, write
from tests.cli.test_app import call
from tests.conftest import ROOT, SMALL
from tests.plans import grid_of, release_id_of
from vdr_spark.config import load_config
from vdr_spark.errors import InvalidInput
from vdr_spark.pings.readers import read_pings
from vdr_spark.release.read import read_release

COLUMNS = {"user_id": "a`b``", "lat": "lat'; DROP TABLE cells; --", "lon": 'x.y."z"', "ts": "${jndi:x} ü\t[bold]=%23"}
FOLDER = "a 'b' \"c\" %41 #d ü =e ;-- [bold] [g] {h,i} $j"


@pytest.mark.parametrize("reader", READERS)
def test_columns_with_names_that_need_quoting(spark: SparkSession, small_config: Small, reader: str) -> None:
    config = small_config(*NO_NOISE, f"input.reader={reader}")
    config = config.model_copy(update={"input": config.input.model_copy(update={"columns": COLUMNS})})
    pings = {"user_id": pa.array(["u", "v"]), **places(grid_of(config), [3, 4])}
    decoys = {name: pa.array([None, None], pa.string()) for name in ("x", "a", "lat")}
    write(config, **{COLUMNS[ours]: column for ours, column in pings.items()}, **decoys)
    np.testing.assert_array_equal(counted(spark, config)[2:6], [0, 1, 1, 0])


@pytest.mark.parametrize("name", ["`", "a`", "1) OR (1=1", "lat, user_id", "*", "", "\0", "x" * 1000, "LAT.x"])
def test_columns_that_are_not_there_are_a_sentence(spark: SparkSession, small_config: Small, name: str) -> None:
    config = small_config()
    write(config, user_id=pa.array(["u"]), **places(grid_of(config), [3]))
    settings = config.input.model_copy(update={"columns": {"lat": name}})
    with pytest.raises(InvalidInput, match="there is no column"):
        read_pings(spark, settings)


@pytest.mark.usefixtures("spark")
def test_a_folder_with_a_name_that_needs_quoting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole release, with the output, the ledger and the pings in folders of such names."""
    pings = tmp_path / FOLDER.replace("{h,i}", "h").replace("[", "(").replace("]", ")")  # brackets are Spark's patterns
    overrides = [*SMALL, f"output={tmp_path}/{FOLDER}", f"input.path={pings}"]
    config = load_config(ROOT / "conf/demo.yaml", overrides)
    assert config.output == f"{tmp_path}/{FOLDER}"
    write(config, user_id=pa.array(["u"]), **places(grid_of(config), [3]))
    arguments = [part for text in overrides for part in ("--set", text)]
    assert call("release", str(ROOT / "conf/demo.yaml"), *arguments) == 0
    assert f"is in {config.output}/tables" in capsys.readouterr().out
    assert read_release(config.output).release_id == release_id_of(config)
    assert {path.name for path in tmp_path.iterdir()} == {FOLDER, pings.name}
    assert {path.name for path in Path(config.output).iterdir()} == {"runs", "statements", "tables", "work"}
