from dataclasses import replace

import numpy as np
import pytest

from vdr_spark.errors import StageMissing
from vdr_spark.grid import Box
from vdr_spark.query import forecast
from vdr_spark.release.cell_source import CellsInMemory
from vdr_spark.report import plot_errors, plot_forecast, plot_training

PLUM, AMBER = (0x7B, 0x23, 0x82), (0xF1, 0x73, 0x1D)
CENTRE = Box.around(29.76, -95.37, 8_000)


def records(epochs: int) -> list[dict[str, float]]:
    return [
        {
            "epoch": n + 1,
            "loss": 3 / (n + 1),
            "reconstruction": 2 / (n + 1),
            "perplexity": 5.0 * n,
            "error": 0.3 - 0.1 * n,
        }
        for n in range(epochs)
    ]


def pixels(picture: np.ndarray, colour: tuple[int, int, int]) -> int:
    return int((np.abs(picture - np.array(colour)) < 12).all(axis=2).sum())


@pytest.mark.parametrize("epochs", [1, 2, 60])
def test_loss_curve_shows_both_losses(epochs: int, tmp_path, look) -> None:
    plot_training(records(epochs), f"{tmp_path}/loss.png", protected=True)
    picture = look(f"{tmp_path}/loss.png")[150:]  # below the legend
    assert pixels(picture, PLUM) > 10
    assert pixels(picture, AMBER) > 10


def test_a_log_without_a_codebook_has_no_perplexity_to_show(tmp_path, look) -> None:
    both = records(5)
    continuous = [{key: line[key] for key in line if key != "perplexity"} for line in both]
    for name, log in (("vqvae", both), ("vae", continuous)):
        plot_training(log, f"{tmp_path}/{name}.png", protected=True)
    with_codes, without = (look(f"{tmp_path}/{name}.png") for name in ("vqvae", "vae"))
    assert pixels(without, PLUM) != pixels(with_codes, PLUM)


def test_an_empty_training_log_is_refused(tmp_path) -> None:
    with pytest.raises(StageMissing, match="at least one epoch"):
        plot_training([], f"{tmp_path}/loss.png", protected=True)


@pytest.mark.parametrize("horizon", [1, 8])
def test_forecast_plot_shows_the_past_and_the_future(horizon: int, city, tmp_path, look) -> None:
    plot_forecast(city, forecast(city, CENTRE, horizon), f"{tmp_path}/f.png")
    picture = look(f"{tmp_path}/f.png")[160:]
    columns = np.flatnonzero((np.abs(picture - np.array(AMBER)) < 12).all(axis=2).any(axis=0))
    past = np.flatnonzero((np.abs(picture - np.array(PLUM)) < 12).all(axis=2).any(axis=0))
    assert past.size > 300
    assert columns.max() > past.max()
    assert columns.min() >= past.max() - 12  # the forecast begins where the release ends


def test_forecast_of_a_single_slice_is_plotted(city, tmp_path, look) -> None:
    single = replace(city, cells=CellsInMemory(city.counts[:1]), grid=replace(city.grid, slices=1))
    plot_forecast(single, forecast(single, CENTRE, 2), f"{tmp_path}/f.png")
    assert pixels(look(f"{tmp_path}/f.png")[100:], PLUM) > 10


def test_error_bars_are_as_long_as_the_errors_and_point_out_the_best(tmp_path, look) -> None:
    plot_errors({"noisy": 1.0, "denoised": 0.5, "refined": 0.25}, f"{tmp_path}/e.png", protected=True)
    picture = look(f"{tmp_path}/e.png")
    grey = (np.abs(picture - np.array([0xA7, 0xA7, 0xB2])) < 4).all(axis=2).sum(axis=1)
    plum = (np.abs(picture - np.array(PLUM)) < 4).all(axis=2).sum(axis=1)
    longest = grey.max()
    assert np.median(grey[grey > 0.4 * longest]) >= 0.49 * longest
    assert plum.max() == pytest.approx(0.25 * longest, rel=0.02)
    assert np.flatnonzero(plum).min() > np.flatnonzero(grey > 0.9 * longest).max()  # in the order given


def test_charts_of_an_unprotected_release_are_marked(city, tmp_path, look) -> None:
    for protected in (True, False):
        release = replace(city, protected=protected)
        plot_forecast(release, forecast(release, CENTRE, 4), f"{tmp_path}/forecast-{protected}.png")
        plot_training(records(5), f"{tmp_path}/loss-{protected}.png", protected=protected)
        plot_errors({"noisy": 1.0}, f"{tmp_path}/errors-{protected}.png", protected=protected)
    for kind in ("forecast", "loss", "errors"):
        clean, marked = (look(f"{tmp_path}/{kind}-{protected}.png") for protected in (True, False))
        assert marked.shape[0] > clean.shape[0] + 40
        assert tuple(marked[-3, 3]) == (0xC1, 0x12, 0x1F)
        assert tuple(clean[-3, 3]) == (255, 255, 255)
