"""The model behind `vdr explain` and docs/scale.md: plain arithmetic over measured figures."""

import re

import pytest

from tests.conftest import ROOT
from vdr_spark.config import load_config
from vdr_spark.cost import CELLS_PER_TASK, PINGS_PER_TASK, cost_of, denoise_memory, tasks_for
from vdr_spark.plan import make_plan

CELLS = 576 * 576 * 96


def test_cost_grows_with_pings_and_noise_with_cells() -> None:
    day, days = cost_of(2.4e9, CELLS), cost_of(12 * 2.4e9, CELLS)
    assert days.read_core_s == pytest.approx(12 * day.read_core_s)
    assert days.noise_core_s == day.noise_core_s
    assert day.dominant == "reading"
    assert cost_of(1e4, CELLS).dominant == "noise"
    assert cost_of(1e9, CELLS, direct=True).core_s < cost_of(1e9, CELLS).core_s


def test_no_task_gets_more_than_it_can_hold() -> None:
    assert 28.8e9 / tasks_for(28.8e9, PINGS_PER_TASK, usual=200) <= PINGS_PER_TASK
    assert cost_of(28.8e9, CELLS).task_memory < 1e9


def test_no_task_is_there_for_next_to_nothing() -> None:
    """Spark's default of 200 tasks took minutes over a million pings."""
    assert [tasks_for(pings, PINGS_PER_TASK, usual=200) for pings in (0, 1e5, 1e6, 1e7, 1e9)] == [1, 1, 4, 40, 250]
    assert tasks_for(5e7, PINGS_PER_TASK, usual=8) == 13
    assert [tasks_for(cells, CELLS_PER_TASK, usual=8) for cells in (576**2, CELLS)] == [1, 8]


def test_the_page_on_scale_says_what_the_model_says() -> None:
    page = (ROOT / "docs/scale.md").read_text()
    for pings in (2.4e9, 28.8e9):
        cost = cost_of(pings, CELLS)
        for figure in (f"{cost.core_s / 3600:.2f}", f"{cost.shuffled / 1e9:.0f} GB", f"{cost.tasks:,}"):
            assert re.search(rf"(?<![\d.]){re.escape(figure)}", page), figure


def test_earlier_windows_take_memory_up_to_what_is_shown_of_them() -> None:
    demo = make_plan(load_config(ROOT / "conf/demo.yaml"))
    weekly = make_plan(load_config(ROOT / "conf/weekly.yaml", ["window=2020-W03"]))
    assert denoise_memory(demo, 1_000_000) == 25 * 4_000_000
    assert denoise_memory(weekly, 1_000_000) == 11 * 9 * 4_000_000  # the window's, and eight before it
    assert denoise_memory(weekly, 576 * 576 * 56) == 11 * 400_000_000
