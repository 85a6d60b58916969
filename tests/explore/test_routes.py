import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import deltalake
import numpy as np
import pytest

from tests.explore.cities import BOX, HEADERS, TOKEN, city, get, publish, site, site_of
from tests.release.hand_made import hand_made
from tests.release.published import withdraw
from vdr_spark.explore.routes import ROUTES, Response, Site
from vdr_spark.explore.shelf import FolderShelf
from vdr_spark.grid import Box

SLICE = "api/slice?release=a-city&t=0&layer=count&factor=1"
EDGES = "south=29.65&west=-95.45&north=29.75&east=-95.35"


def told(found: Response) -> Mapping[str, Any]:
    assert found.kind.startswith("application/json")
    content = json.loads(found.body)
    assert isinstance(content, dict)
    return content


@pytest.mark.parametrize(
    "path",
    [
        "api/slice",
        "api/slice?release=a-city&t=16&layer=count&factor=1",
        "api/slice?release=a-city&t=-1&layer=count&factor=1",
        "api/slice?release=a-city&t=1e9&layer=count&factor=1",
        "api/slice?release=a-city&t=٣&layer=count&factor=1",
        "api/slice?release=a-city&t=0&layer=noisy&factor=1",
        "api/slice?release=a-city&t=0&layer=count&factor=3",
        "api/slice?release=a-city&t=0&layer=count&factor=0",
        "api/slice?release=../ledger&t=0&layer=count&factor=1",
        "api/slice?release=a-city&t=0&t=1&layer=count&factor=1",
        "api/slice?release=a-city&t=0&layer=count&factor=1&table=noisy_slices",
        f"api/box?release=a-city&t=0&{EDGES.replace('29.75', 'nan')}",
        f"api/box?release=a-city&t=0&{EDGES.replace('29.75', 'inf')}",
        f"api/box?release=a-city&t=0&{EDGES.replace('29.75', '1e999')}",
        f"api/box?release=a-city&t=0&{EDGES.replace('29.75', '29.95')}",
        f"api/box?release=a-city&t=0&{EDGES.replace('29.75', '29.65')}",
        "api/box?release=a-city&t=0&south=29.65",
        f"api/series?release=a-city&{EDGES}&horizon=1000000",
        f"api/series?release=a-city&{EDGES}&horizon=0",
        "api/hotspot?release=a-city&t=0&lat=29.7&lon=-95.4&density=-1",
        "api/hotspot?release=a-city&t=0&lat=29.7&lon=-95.4&density=0.5",
        "api/hotspot?release=a-city&t=0&lat=29.7&lon=-95.4&density=1e300",
        "api/hotspot?release=a-city&t=0&lat=91&lon=-95.4&density=5",
        "api/hotspot?release=a-city&t=0&lat=29.7&lon=0&density=5",
        f"api/lines?release=a-city&t=0&{EDGES}&lat=29.7&lon=-95.4&density=5",
        "api/backdrop?release=a-city",
        "api/meta?" + "release=a&" * 200,
        "api/meta?release",
        "api/meta?=;&&",
        "api/meta?release=%00",
        "api/meta?release=<script>alert(1)</script>",
    ],
)
def test_hostile_parameters_get_400_and_a_sentence(path: str) -> None:
    found = get(site(city()), path)
    assert found.status == 400, found.body
    sentence = told(found)["error"]
    assert " must " in sentence or "there is no backdrop" in sentence
    assert len(sentence) < 400


@pytest.mark.parametrize(
    "path", ["api/ledger", "api/", "../pyproject.toml", "static/index.html", "built.json", "api/meta/x"]
)
def test_there_is_nothing_else(path: str) -> None:
    assert get(site(city()), path).status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_nothing_can_be_written(method: str) -> None:
    found = site(city()).respond(method, f"/{TOKEN}/api/meta", HEADERS)
    assert found.status == 405
    assert found.headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("target", ["*", "http://127.0.0.1:4321/a-token/", "//evil.example/a-token/", "/[", ""])
def test_other_kinds_of_addresses_are_refused(target: str) -> None:
    assert site(city()).respond("GET", target, HEADERS).status in (400, 403)


def test_a_box_is_counted_as_the_library_counts_it() -> None:
    release = city()
    found = told(get(site(release), f"api/box?release=a-city&t=5&{EDGES}"))
    start, end = release.grid.slice_start(5), release.grid.slice_start(6)
    answer = release.range_count(Box(29.65, -95.45, 29.75, -95.35), start, end)
    assert (found["count"], found["deviation"], found["cells"]) == (answer.count, answer.deviation, answer.cells)
    assert found["count_text"] == f"{answer.count:,.0f}"
    assert found["sentence"] == str(answer)


def test_a_difference_has_the_error_of_both() -> None:
    release = city()
    found = told(get(site(release), f"api/box?release=a-city&t=5&{EDGES}&other=a-city&other_t=2"))
    before = told(get(site(release), f"api/box?release=a-city&t=2&{EDGES}"))
    assert found["other"] == before
    assert found["difference"]["count"] == found["count"] - before["count"]
    assert found["difference"]["deviation"] ** 2 == pytest.approx(found["deviation"] ** 2 + before["deviation"] ** 2)


def test_a_series_comes_with_its_forecast_and_its_sum() -> None:
    release, box = city(), Box(29.65, -95.45, 29.75, -95.35)
    found = told(get(site(release), f"api/series?release=a-city&{EDGES}&horizon=4"))
    assert found["counts"] == pytest.approx(release.series(box).tolist(), rel=1e-5)
    assert found["whole"]["count"] == release.range_count(box).count
    assert found["forecast"]["mean"] == pytest.approx(release.forecast(box, 4).mean.tolist(), rel=1e-5)
    assert found["forecast"]["starts"][0] == "2020-01-08T18:00:00-06:00"


def test_the_nearest_hot_spot_is_the_librarys() -> None:
    release = city()
    found = told(get(site(release), "api/hotspot?release=a-city&t=3&lat=29.65&lon=-95.45&density=120"))
    answer = release.nearest_dense_hotspot(29.65, -95.45, 3, 120.0)
    assert (found["lat"], found["lon"], found["slice"]) == (answer.lat, answer.lon, answer.slice)
    assert found["probability"] == answer.probability
    assert found["sentence"] == str(answer)


def test_an_unlikely_hot_spot_says_so_and_comes_with_one_of_even_odds() -> None:
    """Cells of 60 pings that may hold 120 lie all around; the one that does is five slices away."""
    counts = np.full((6, 12, 12), 60.0)
    counts[5, 6, 8] = 150
    deviation = np.where(counts > 100, 10.0, 40.0)
    release = hand_made(counts, deviation, box=BOX)
    lat, lon = release.grid.latitudes()[6], release.grid.longitudes()[6]
    ask = f"api/hotspot?release={release.release_id}&t=0&lat={lat}&lon={lon}&density="
    found = told(get(site(release), f"{ask}120"))
    assert found["doubtful"]
    assert 0 < found["probability"] < 0.5
    assert (found["likelier"]["count_text"], found["likelier"]["slices_away"]) == ("150", 5)
    assert found["likelier"]["lon"] == release.grid.longitudes()[8]
    assert found["likelier"]["probability"] > 0.9
    sure = told(get(site(release), f"{ask}30"))
    assert not sure["doubtful"]
    assert sure["likelier"] is None


def test_a_release_of_less_than_a_ping_suggests_a_hot_spot_that_may_be_asked_for() -> None:
    quiet = hand_made(np.full((2, 8, 8), 0.01), None)
    assert told(get(site(quiet), "api/meta"))["scale"]["hot"] == 1


def test_the_page_is_told_times_in_the_releases_zone_and_what_was_promised() -> None:
    found = told(get(site(city()), "api/meta"))
    assert found["grid"]["zone"] == "America/Chicago"
    assert found["grid"]["starts"][0] == "2020-01-06T18:00:00-06:00"
    assert len(found["grid"]["starts"]) == 17
    assert found["release"]["promise"] == "epsilon 6"
    assert found["scale"]["top"] > 0


def test_a_release_of_one_slice_without_error_bars_is_shown() -> None:
    release = city(slices=1, deviation=None)
    shown = site(release)
    found = told(get(shown, "api/meta"))
    assert found["release"]["deviations"] is False
    assert found["first"] == 0
    assert get(shown, SLICE).status == 200
    assert get(shown, "api/slice?release=a-city&t=0&layer=deviation&factor=1").status == 400
    assert told(get(shown, f"api/box?release=a-city&t=0&{EDGES}"))["deviation"] is None
    assert told(get(shown, f"api/series?release=a-city&{EDGES}&horizon=2"))["deviations"] is None


def test_an_empty_release_is_shown() -> None:
    zeros = np.zeros((2, 4, 4))
    empty = site(hand_made(zeros, zeros + 1, box=BOX, release_id="a-city"))
    assert told(get(empty, "api/meta"))["scale"]["top"] > 0
    assert get(empty, SLICE).status == 200


def test_an_unprotected_release_says_so() -> None:
    found = told(get(site(city(protected=False)), "api/meta"))
    assert found["release"]["protected"] is False
    assert told(get(site(city(protected=False)), f"api/box?release=a-city&t=0&{EDGES}"))["sentence"].startswith(
        "UNPROT"
    )


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def folder_site(folder: str, clock: Clock, withdrawn_too: bool = False) -> Site:
    return site(FolderShelf(folder, "a-city", withdrawn_too, clock))


def test_a_release_that_is_withdrawn_under_it_is_gone(tmp_path: Path) -> None:
    clock = Clock()
    shown = folder_site(publish(tmp_path, city(), city("b-city", seed=4)), clock)
    assert get(shown, SLICE).status == 200
    withdraw(tmp_path, "a-city")
    clock.now += 10
    found = get(shown, SLICE)
    assert found.status == 410
    assert "was withdrawn on" in told(found)["error"]
    assert get(shown, SLICE.replace("a-city", "b-city")).status == 200
    assert [entry["withdrawn"] for entry in told(get(shown, "api/meta?release=b-city"))["releases"]].count(True) == 1


def test_a_steward_sees_a_withdrawn_release_marked(tmp_path: Path) -> None:
    folder = publish(tmp_path, city(), withdrawn=("a-city",))
    assert told(get(site_of(folder, "a-city", True), "api/meta"))["release"]["withdrawn"].startswith("WITHDRAWN on")


def test_a_release_deleted_under_it_is_gone(tmp_path: Path) -> None:
    clock = Clock()
    shown = folder_site(publish(tmp_path / "out", city()), clock)
    assert get(shown, "api/meta").status == 200
    assert get(shown, "api/alive?release=a-city").status == 200
    shutil.rmtree(tmp_path / "out")
    clock.now += 10
    for path in ("api/meta", "api/alive?release=a-city", SLICE):
        found = get(shown, path)
        assert found.status == 410
        assert "published" in told(found)["error"]


def test_cells_that_are_missing_are_told(tmp_path: Path) -> None:
    shown = folder_site(publish(tmp_path, city()), Clock())
    for file in (tmp_path / "tables/cells").rglob("*.parquet"):
        file.unlink()
    found = get(shown, SLICE)
    assert found.status == 500
    assert "restore" in told(found)["error"]


def test_a_defect_of_ours_is_no_trace_for_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> dict[str, Any]:
        raise RuntimeError("secret")

    monkeypatch.setitem(ROUTES, "meta", (("release",), broken))
    found = get(site(city()), "api/meta")
    assert found.status == 500
    assert b"secret" not in found.body
    assert "defect of ours" in told(found)["error"]


def test_only_released_tables_are_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, opened, real = folder_site(publish(tmp_path, city()), Clock()), [], deltalake.DeltaTable

    def watched(path: str, *rest: Any, **options: Any) -> Any:
        opened.append(Path(path).name)
        return real(path, *rest, **options)

    monkeypatch.setattr(deltalake, "DeltaTable", watched)
    for path in ("api/meta", SLICE, f"api/box?release=a-city&t=0&{EDGES}", f"api/lines?release=a-city&t=0&{EDGES}"):
        assert get(shown, path).status == 200
    assert {"cells", "releases"} <= set(opened) <= {"cells", "releases", "withdrawals"}


def test_two_regions_and_another_grid_are_told_apart(tmp_path: Path) -> None:
    there = Box(30.0, -96.0, 30.2, -95.8)
    folder = publish(tmp_path, city(region="north"), city("b-city", region="south", box=there), city("c-city", seed=5))
    listed = told(get(site_of(folder, "a-city"), "api/meta"))["releases"]
    assert {entry["region"] for entry in listed} == {"north", "south", ""}
    assert {entry["release_id"] for entry in listed if entry["comparable"]} == {"a-city", "c-city"}
