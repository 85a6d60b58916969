"""Earlier windows by their files: read one by one, refused in a sentence, and without them all is as it was."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.denoise.past.towns import grid_of, town
from tests.denoise.priors.test_temporal import with_noise
from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.past import evidence
from vdr_spark.denoise.past.window import PastWindow, check_past, gather_past
from vdr_spark.denoise.stage import denoise, denoise_tensor
from vdr_spark.errors import InvalidInput
from vdr_spark.grid import Box, Grid
from vdr_spark.plan import ReleasePlan, make_plan
from vdr_spark.progress import NullProgress
from vdr_spark.storage.files import read_json
from vdr_spark.storage.tensor_file import read_tensor

CELLS, SLICES = 24, 8


def plan_of(grid: Grid, folder: Path) -> ReleasePlan:
    config = {
        "name": "window",
        "dataset": "people",
        "output": str(folder),
        "input": {"path": "nothing-is-read"},
        "region": {side: getattr(grid.box, side) for side in ("south", "west", "north", "east")},
        "grid": {"cells_per_side": grid.cells_per_side},
        "period": {"start": grid.start, "end": grid.end, "slice": grid.slice_seconds},
        "privacy": {"epsilon": 1, "k": 8, "total_pings": 10_000},
        "denoise": {"model": "ridge"},
    }
    return make_plan(ReleaseConfig.model_validate(config)).releases(10_000)[0]


def window_of(number: int, folder: Path) -> tuple[PastWindow, np.ndarray]:
    """A window, stored as collect stores it, and its noisy counts."""
    grid = grid_of(number, SLICES, CELLS)
    noisy = with_noise(town(number + 50, grid), seed=number + 50)
    columns = {
        "slice": pa.array(range(SLICES), pa.int32()),
        "counts": pa.array([layer.astype("<i2").tobytes() for layer in noisy], pa.binary()),
        "bytes_per_count": pa.array([2] * SLICES, pa.int32()),
    }
    path = folder / f"window{number}.parquet"
    pq.write_table(pa.table(columns), path)
    return PastWindow((str(path),), plan_of(grid, folder / f"out{number}")), noisy


def test_without_a_past_all_is_as_it_was_bit_for_bit(tmp_path: Path) -> None:
    window, noisy = window_of(0, tmp_path)
    plan = window.release
    assert denoise(window.files, plan, NullProgress(), past=())
    stored = read_tensor(plan.folder.denoised, CELLS)
    tensor, notes = denoise_tensor(noisy, plan.noise, 8.0, plan.config.denoise, str(tmp_path / "x"), NullProgress())
    np.testing.assert_array_equal(stored.counts, tensor.counts)
    assert read_json(plan.folder.denoising) == json.loads(json.dumps(notes))
    assert not {"past", "estimated_errors"} & set(notes)


def test_a_stage_with_a_past_reads_every_window_and_says_so(tmp_path: Path) -> None:
    past = [window_of(number, tmp_path)[0] for number in (-3, -2, -1)]
    window, _ = window_of(0, tmp_path)
    assert denoise(window.files, window.release, NullProgress(), past=past)
    assert read_json(window.release.folder.denoising)["past"]["windows"] == 3
    assert not denoise(window.files, window.release, NullProgress(), past=past)  # done already


def test_windows_for_which_there_is_no_room_are_said_to_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    past = [window_of(number, tmp_path)[0] for number in (-2, -1)]
    window, noisy = window_of(0, tmp_path)
    caplog.set_level("INFO")
    for room, used in ((2, 1), (1, None)):
        monkeypatch.setattr(evidence, "MOST_CELLS_SHOWN", room * noisy.size)
        found = gather_past(past, noisy, window.release, NullProgress())
        assert (None if found is None else found.windows) == used
        assert f"{used or 0} of 2 earlier windows serve as evidence" in caplog.text


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"cells_per_side": 32}, "must have the same cells as this one, 24 x 24"),
        ({"box": Box(0, 0, 1, 2)}, "must have the same cells as this one"),
        ({"slice_seconds": 3600, "slices": 24}, "must have slices of 10800 s as this one has, not of 3600 s"),
        ({"start": grid_of(0, SLICES, CELLS).start}, "must end by 2024-01-08"),
    ],
)
def test_windows_that_cannot_speak_for_this_one_are_refused(
    tmp_path: Path, change: dict[str, object], sentence: str
) -> None:
    other = replace(grid_of(-1, SLICES, CELLS), **change)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=sentence):
        check_past([PastWindow((), plan_of(other, tmp_path))], grid_of(0, SLICES, CELLS))
