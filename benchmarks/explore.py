"""How fast the explorer is in Chromium, at the paper's size.

    python benchmarks/explore.py [--output FOLDER]

A made-up city of 576 x 576 x 96 cells is published, as in benchmarks/query.py, and `vdr explore` started over it.
Measured in the browser, at 1440 x 900: the first picture from a cold start of server and page, and of a second window;
frames a second while playing; from letting go of a dragged box to its count on screen, and to its series. Without a
graphics card Chromium draws on the processor (SwiftShader), which it shares with everything else there: so the seconds
of processor that a frame takes, of all of Chromium, are told too. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from playwright.sync_api import sync_playwright
from query import prepare, publish_city

FLAGS = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"]
SIZE = {"width": 1440, "height": 900}
COLD_STARTS, BOXES, PLAYED_SECONDS = 3, 20, 6

_FRAMES = """seconds => new Promise(done => {
  const times = [], until = performance.now() + 1000 * seconds;
  const tick = now => { times.push(now); if (now < until) requestAnimationFrame(tick); else done(times); };
  requestAnimationFrame(tick);
})"""


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="vdr-explore-") as made:
        folder = Path(arguments.output or made)
        conf = folder / "conf.yaml"
        if not conf.exists():
            from vdr_spark import spark_session

            folder.mkdir(exist_ok=True)
            conf, release = prepare(folder, arguments.cells, arguments.slices)
            spark = spark_session()
            publish_city(spark, release)
            spark.stop()
        with sync_playwright() as driver:
            figures = _measure(driver, conf, arguments.chromium)
    figures["load_average"] = os.getloadavg()[0]
    for name, value in figures.items():
        print(f"{name:24} {value:10.1f}")
    print(json.dumps(figures))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=576, help="along each side (default: %(default)s)")
    parser.add_argument("--slices", type=int, default=96, help="of 3 hours (default: %(default)s)")
    parser.add_argument("--output", help="keep the release there, and use it if it is there already")
    parser.add_argument("--chromium", default=shutil.which("chromium"), help="the browser (default: %(default)s)")
    return parser.parse_args()


def _measure(driver: Any, conf: Path, chromium: str) -> dict[str, float]:
    cold: list[float] = []
    figures: dict[str, float] = {}
    for number in range(COLD_STARTS):
        with _serving(conf) as address:
            browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
            page = browser.new_page(viewport=SIZE)
            cold.append(_first_picture(page, address))
            if number == COLD_STARTS - 1:
                figures |= _play(page) | _drag_boxes(page)
                figures["second_window_ms"] = _first_picture(browser.new_page(viewport=SIZE), address)
            browser.close()
    return {"first_picture_ms": statistics.median(cold), "first_picture_worst_ms": max(cold)} | figures


@contextmanager
def _serving(conf: Path) -> Iterator[str]:
    """Start `vdr explore`, and end it by its id."""
    command = [str(Path(sys.executable).with_name("vdr")), "explore", str(conf), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield next(line.strip() for line in server.stdout if "http://127.0.0.1" in line)
        server.terminate()


def _first_picture(page: Any, address: str) -> float:
    page.goto(address)
    page.wait_for_selector("html[data-painted=yes]")
    return float(page.evaluate("performance.getEntriesByName('first-picture')[0].startTime"))


def _play(page: Any) -> dict[str, float]:
    page.click("#play")
    page.wait_for_timeout(4000)
    before = _processor_seconds()
    gaps = np.diff(page.evaluate(_FRAMES, PLAYED_SECONDS))
    spent = _processor_seconds() - before
    page.click("#play")
    return {
        "frames_a_second": 1000 / float(gaps.mean()),
        "frame_95th_ms": float(np.percentile(gaps, 95)),
        "frame_processor_ms": 1000 * spent / len(gaps),
    }


def _processor_seconds() -> float:
    """Return what the browser that we started has used of the processor."""
    ours = psutil.Process().children(recursive=True)
    return sum(sum(one.cpu_times()[:2]) for one in ours if "chrom" in one.name())


def _drag_boxes(page: Any) -> dict[str, float]:
    page.evaluate("density.addEventListener('pointerup', () => performance.mark('released'))")
    rng, waits = np.random.default_rng(0), []
    place = page.locator("#density").bounding_box()
    side = min(place["width"], place["height"]) - 40
    left, top = place["x"] + (place["width"] - side) / 2, place["y"] + (place["height"] - side) / 2
    for _ in range(BOXES):
        corner, extent = rng.uniform(0.05, 0.6, 2), rng.uniform(0.03, 0.35, 2)
        start, end = (left + side * corner[0], top + side * corner[1]), corner + extent
        page.evaluate("performance.clearMarks(); document.getElementById('chart').replaceChildren()")
        page.mouse.move(*start)
        page.mouse.down()
        page.mouse.move(left + side * end[0], top + side * end[1], steps=5)
        page.mouse.up()
        page.wait_for_selector("#chart svg", timeout=60_000)
        waits.append(
            page.evaluate("['released', 'box-answered'].map(n => performance.getEntriesByName(n)[0].startTime)")
        )
    counts = [answered - released for released, answered in waits]
    series = page.evaluate(
        "performance.getEntriesByType('resource').filter(r => r.name.includes('api/series')).map(r => r.duration)"
    )
    return {
        "box_ms": statistics.median(counts),
        "box_worst_ms": max(counts),
        "series_ms": statistics.median(series),
        "series_worst_ms": max(series),
    }


if __name__ == "__main__":
    main()
