"""Every experiment runs in its quick size and leaves its files; records say how they came about."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import ROOT
from vdr_spark.errors import InvalidConfig
from vdr_spark.experiments.experiment import Wish, choose_sweep, run_experiment
from vdr_spark.experiments.settings import list_experiments, load_experiment
from vdr_spark.experiments.tables import from_csv
from vdr_spark.progress import NullProgress

FOLDER = ROOT / "conf/experiments"
EXPERIMENTS = list_experiments(FOLDER)


@pytest.mark.training
@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "comparison"])
def test_the_quick_size_leaves_table_picture_and_paragraph(name: str, tmp_path: Path) -> None:
    wish = Wish(name, size="quick", draws=1, output=str(tmp_path))
    outcome = run_experiment(EXPERIMENTS[name], wish, NullProgress())
    table, picture, paragraph, _, *slices = (Path(file) for file in outcome.files)
    figures = EXPERIMENTS[name].plot.figures
    assert set(figures) <= {line.figure for line in from_csv(table.read_text())}
    assert picture.read_bytes().startswith(b"\x89PNG")
    text = paragraph.read_text()
    assert text == outcome.text
    assert "one draw of the noise, so without a spread" in text
    assert "Nothing was measured" not in text
    assert [file.name for file in slices] == (
        ["gaussian_mixtures-quick-slices.png"] if name == "gaussian_mixtures" else []
    )


def test_any_file_can_be_given(tmp_path: Path) -> None:
    rows = 400
    pings = {
        "user_id": list(range(rows)),
        "lat": [37.7 + 0.0001 * (row % 20) for row in range(rows)],
        "lon": [-122.4] * rows,
        "ts": pa.array([1_211_000_000_000_000 + 3_600_000_000 * row for row in range(rows)], pa.timestamp("us", "UTC")),
    }
    pq.write_table(pa.table(pings), tmp_path / "pings.parquet")
    wish = Wish(
        "range_size",
        "quick",
        str(tmp_path / "pings.parquet"),
        "cabs_sf",
        draws=3,
        methods=("ug", "scaled_noisy"),
        output=str(tmp_path / "out"),
        record=str(tmp_path / "records"),
    )
    outcome = run_experiment(EXPERIMENTS["range_size"], wish, NullProgress())
    assert all(line.draws == 3 for line in outcome.lines)
    record = json.loads((tmp_path / "records/range_size-cabs_sf-quick.json").read_text())
    assert record["command"] == (
        "vdr experiment range_size --input pings.parquet --preset cabs_sf --size quick --method ug "
        "--method scaled_noisy --draws 3"
    )
    assert record["about"][0]["k"] == 1
    assert str(tmp_path) not in json.dumps(record)
    assert {path.suffix for path in (tmp_path / "records").iterdir()} == {".csv", ".md", ".json"}


def test_wishes_change_the_sweep() -> None:
    experiment = load_experiment("range_epsilon", FOLDER)
    wish = Wish(
        "range_epsilon", epsilon=(2.0, 0.5, 2.0), methods=("ug", "ug"), cells=12, assignments=("k=3", "data.pings=100")
    )
    sweep = choose_sweep(experiment, wish)
    assert (sweep.data["cells"], sweep.data["pings"], sweep.fixed["k"]) == (12, 100, 3)
    assert (sweep.sweep["epsilon"], sweep.sweep["method"]) == ([2, 0.5], ["ug"])
    assert wish.command == (
        "vdr experiment range_epsilon --cells 12 --method ug --method ug --epsilon 2 --epsilon 0.5 --epsilon 2 "
        "--set k=3 --set data.pings=100"
    )


def test_a_setting_that_is_swept_stays_an_axis_with_the_value_asked_for(tmp_path: Path) -> None:
    """It was left out of the table, so that there was no picture, or, of the pings, passed over."""
    wish = Wish("sampling_noise", "quick", draws=1, assignments=("k=10",), output=str(tmp_path))
    outcome = run_experiment(EXPERIMENTS["sampling_noise"], wish, NullProgress())
    assert {line.asked["k"] for line in outcome.lines} == {10}
    cut = Wish("temporal_resolution", assignments=("data.slices=24",))
    assert choose_sweep(EXPERIMENTS["temporal_resolution"], cut).sweep["data.slices"] == [24]


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (Wish("range_epsilon", size="huge"), "--size: must be full or quick"),
        (Wish("range_epsilon", path="x.parquet"), "--preset must be given with --input"),
        (Wish("range_epsilon", preset="nowhere"), "--preset: must be one of"),
        (Wish("range_epsilon", draws=0), "--draws: must be at least 1"),
        (Wish("range_epsilon", assignments=("k",)), "--set: must be NAME=VALUE"),
        (Wish("range_epsilon", epsilon=(float("nan"),)), "--epsilon: must be a positive number, not nan"),
        (Wish("range_epsilon", epsilon=(float("inf"),)), "--epsilon: must be a positive number, not inf"),
        (Wish("range_epsilon", epsilon=(0.0,)), r"--epsilon: must be a positive number, not 0\.0"),
        (Wish("range_epsilon", cells=0), "--cells: must be a whole number, at least 2, not 0"),
    ],
)
def test_what_does_not_fit_is_refused(wish: Wish, words: str) -> None:
    with pytest.raises(InvalidConfig, match=words):
        choose_sweep(load_experiment("range_epsilon", FOLDER), wish)
