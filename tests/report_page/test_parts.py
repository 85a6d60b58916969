"""Figures of the report are those of the library, and of what lies around a release."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.report_page.conftest import make_city
from vdr_spark.grid import Box
from vdr_spark.report_page import Contents, report_page
from vdr_spark.report_page.accuracy import Squares, measure, squares
from vdr_spark.report_page.charts import linear_axis, log_axis
from vdr_spark.report_page.contents import read_codes, read_trainings
from vdr_spark.report_page.digest import Digest
from vdr_spark.report_page.hotspots import largest_hotspots
from vdr_spark.report_page.maps import Scale
from vdr_spark.report_page.markup import Markup, element, join, with_code
from vdr_spark.report_page.png import INFERNO, LEVELS, encode_png, palette, shrink
from vdr_spark.report_page.rhythm import hour_of_day
from vdr_spark.storage.places import ReleaseFolder


def test_text_is_escaped_unless_it_was_made_here() -> None:
    assert element("p", "<b>", element("i", "&"), class_='"x') == '<p class="&quot;x">&lt;b&gt;<i>&amp;</i></p>'
    assert join(["<", Markup("<br>")], "&") == "&lt;&amp;<br>"


def test_another_library_reads_the_pictures() -> None:
    levels = np.arange(LEVELS, dtype=np.uint8).reshape(8, -1)
    with Image.open(io.BytesIO(encode_png(levels, palette(INFERNO)))) as image:
        image.load()
        assert image.size == (LEVELS // 8, 8)
        pixels = np.asarray(image.convert("RGB"))
    assert np.array_equal(pixels, palette(INFERNO)[levels])
    assert pixels[0, 0].tolist() == [0, 0, 4]
    lightness = pixels.reshape(-1, 3) @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(lightness) > 0).all()  # reads in grey, and by people who tell no red from green


def test_a_smaller_map_has_the_same_mean_and_north_up() -> None:
    layer = np.arange(36.0).reshape(6, 6)
    small = shrink(layer, 3)
    assert small.shape == (3, 3)
    assert small.mean() == layer.mean()
    assert shrink(np.ones((5, 5)), 3).tolist() == np.ones((3, 3)).tolist()
    png = Scale(35.0).picture(layer).removeprefix("data:image/png;base64,")
    import base64

    with Image.open(io.BytesIO(base64.b64decode(png))) as image:
        grey = np.asarray(image.convert("L")).astype(int)
    assert grey[0].sum() > grey[-1].sum()  # the busy rows of the north are on top


def test_error_bars_are_those_of_range_counts() -> None:
    city = make_city()
    digest = Digest(city)
    for side, whole in ((1, True), (4, True), (4, False)):
        found = squares(digest, side, whole_period=whole)
        box, grid = city.grid.box, city.grid
        degrees = [
            (box.north - box.south) / grid.cells_per_side * side,
            (box.east - box.west) / grid.cells_per_side * side,
        ]
        first = Box(box.south, box.west, box.south + degrees[0], box.west + degrees[1])
        moments = (grid.start, grid.end)
        if not whole:
            number = digest.few_slices[0]
            moments = (grid.slice_start(number), grid.slice_start(number + 1))
        answer = city.range_count(first, *moments)
        assert found.counts[0] == pytest.approx(answer.count)
        assert found.deviations[0] == pytest.approx(answer.deviation)


def test_half_of_the_pings_are_known_better_than_the_median_says() -> None:
    some = Squares(np.array([100.0, 10.0, 10.0, 0.0]), np.array([1.0, 5.0, 9.0, 3.0]))
    assert some.error() == 0.01
    assert Squares(np.zeros(3), np.ones(3)).error() is None


def test_larger_boxes_are_known_better() -> None:
    accuracy = measure(Digest(make_city()))
    assert accuracy is not None
    errors = [error for _, error in accuracy.by_side["in one slice"]]
    assert errors == sorted(errors, reverse=True)
    assert [side for side, _ in accuracy.by_side["over the whole period"]] == [1, 2, 4, 8, 16]  # all of it is N
    assert measure(Digest(make_city(bars=False))) is None


def test_hot_spots_are_apart_and_the_largest_first() -> None:
    city = make_city()
    places = largest_hotspots(Digest(city), most=4)
    counts = [place.pings.count for place in places]
    assert counts == sorted(counts, reverse=True)
    assert (places[0].row, places[0].column) == np.unravel_index(city.counts.sum(axis=0).argmax(), (24, 24))
    assert places[0].busiest.hour == 15  # 1.3 of the rhythm, which begins at midnight in Chicago
    for one in places:
        for other in places:
            assert one is other or max(abs(one.row - other.row), abs(one.column - other.column)) >= 3


def test_the_hours_are_those_of_the_zone() -> None:
    profile = hour_of_day(Digest(make_city()))
    assert profile is not None
    assert profile.hours == ["00:00", "03:00", "06:00", "09:00", "12:00", "15:00", "18:00", "21:00"]
    (days,) = profile.groups.values()  # Tuesday to Thursday
    assert np.argmax(days) == 5
    assert hour_of_day(Digest(make_city(slice_seconds=86_400))) is None


def test_axes_hold_all_values() -> None:
    for values in ([0.0], [1e-7, 3.0], [12, 999_999], [7.0, 7.0]):
        axis = linear_axis(values, "")
        assert axis.high >= max(values)
        assert 2 <= len(axis.ticks) <= 6
    axis = log_axis([0.013, 8.7], "", percent=True)
    assert axis.low <= 0.013 < 8.7 <= axis.high
    assert all(name.endswith("%") for _, name in axis.ticks)


def test_what_stands_in_backticks_is_set_as_code_and_escaped_all_the_same() -> None:
    assert with_code("ask `vdr <audit>`, & `x`") == "ask <code>vdr &lt;audit&gt;</code>, &amp; <code>x</code>"
    assert with_code("a ` alone <b>") == "a ` alone &lt;b&gt;"


def test_trainings_are_read_as_far_as_they_are_there(tmp_path: Path) -> None:
    assert read_trainings(ReleaseFolder(str(tmp_path))) == {}
    log = [{"epoch": epoch, "loss": 1 / epoch, "error": 2 / epoch, "perplexity": 10.0 * epoch} for epoch in (1, 2, 3)]
    for model, text in {"vqvae": "\n".join(map(json.dumps, log)), "blindspot": "{half"}.items():
        (tmp_path / model).mkdir()
        (tmp_path / model / "training.jsonl").write_text(text)
    found = read_trainings(ReleaseFolder(str(tmp_path)))
    assert list(found.values()) == [log]
    page = report_page(Contents(make_city(), training=found))
    assert "VQ-VAE, the paper&#x27;s model" in page
    assert "perplexity: codes in use, by evenness" in page
    short = report_page(Contents(make_city(), training={"VAE": log[:1]}))
    assert "VAE, after its only epoch" in short
    assert "1, then 0.5" in report_page(Contents(make_city(), training={"VAE": log[:2]}))  # two points are no curve
    assert 'id="training"' not in report_page(Contents(make_city()))


def test_a_codebook_that_is_gone_is_passed_over(tmp_path: Path) -> None:
    folder = ReleaseFolder(str(tmp_path))
    assert read_codes(make_city(model="ridge+fusion"), folder) is None
    assert read_codes(make_city(model="vqvae+fusion"), folder) is None
    (tmp_path / "vqvae").mkdir()
    (tmp_path / "vqvae/checkpoint.safetensors").write_bytes(b"no checkpoint")
    assert read_codes(make_city(model="vqvae+fusion"), folder) is None
