"""The report is one file that fetches nothing, runs nothing, cannot be fooled by names, and says what must be said."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.release.hand_made import hand_made
from tests.report_page.conftest import HOSTILE, make_city
from vdr_spark.grid import Box
from vdr_spark.release.withdrawals import Withdrawal
from vdr_spark.report_page import Contents, report_page
from vdr_spark.report_page.truth_section import SideBySide
from vdr_spark.sum_errors import Spread, SumErrors, Total

PageOf = Callable[..., str]
FIVE_MEGABYTES = 5_000_000


class Outline(HTMLParser):
    """What a browser would make of a page: elements with attributes, headings, text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, Mapping[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def named(self, *tags: str) -> list[Mapping[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag in tags]


def test_it_holds_all_that_it_shows(page_of: PageOf) -> None:
    outline = Outline(page_of())
    for _, attributes in outline.elements:
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("src", "href", "srcset", "data", "action", "background", "poster"):
                assert value is not None
                assert value.startswith(("data:image/png;base64,", "#")), value[:40]
    assert not outline.named("script", "link", "iframe", "object", "embed", "form", "base")
    style = page_of().split("<style>")[1].split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    policies = [of["content"] for of in outline.named("meta") if of.get("http-equiv") == "Content-Security-Policy"]
    assert policies[0] is not None
    assert policies[0].startswith("default-src 'none'; img-src data:;")


def test_it_stays_below_five_megabytes_at_the_papers_size() -> None:
    """The worst there is: hourly slices, so that a day has most maps, and no two neighbouring cells alike."""
    rng = np.random.default_rng(0)
    one = rng.gamma(0.5, 40, size=(576, 576)).astype(np.float32)
    counts = np.broadcast_to(one, (24, 576, 576)) * np.linspace(0.2, 1, 24, dtype=np.float32)[:, None, None]
    errors = SumErrors(40.0, (Spread(1, 1, 0.1), Spread(64, 24, 0.1)), 1e5, Total(1e8))
    release = hand_made(counts, counts / 4, 3600, Box.around(29.76, -95.37, 20_000), sum_errors=errors)
    page = report_page(Contents(release))
    assert page.count("data:image/png") > 28
    assert 500_000 < len(page.encode()) < FIVE_MEGABYTES


def test_names_are_text_and_never_markup() -> None:
    city = make_city(dataset=HOSTILE, region=HOSTILE, model=HOSTILE, release_id=HOSTILE, output=HOSTILE)
    statement = city.statement | {
        "deployment": {HOSTILE: {HOSTILE: HOSTILE, "of": [HOSTILE, {HOSTILE: HOSTILE}]}},
        "questions": [{"question": HOSTILE, "answer": HOSTILE}],
    }
    statement["exact"] = statement["exact"] | {"cells_sha256": HOSTILE, "code_version": HOSTILE, "granted": HOSTILE}
    gone = Withdrawal(HOSTILE, datetime(2020, 3, 1, tzinfo=UTC), HOSTILE, HOSTILE)
    outline = Outline(
        report_page(Contents(replace(city, statement=statement, withdrawal=gone), training={}, conf=HOSTILE))
    )
    assert outline.text.count(HOSTILE) > 8
    assert not outline.named("script")
    assert all(attributes["src"].startswith("data:image/png") for attributes in outline.named("img"))  # type: ignore[union-attr]


def test_what_protects_nobody_says_so_first(page_of: PageOf) -> None:
    page = page_of(protected=False)
    body = page.split("<body")[1]
    assert body.startswith(' class="banded alarmed"><div class="bands" role="alert"><p>UNPROTECTED')
    assert "promises nothing to anybody" in page
    assert "changes the probability" not in page
    assert "position: sticky" in page  # and stays on the screen
    assert "UNPROTECTED" not in page_of()


def test_what_was_withdrawn_says_so_first(page_of: PageOf) -> None:
    gone = Withdrawal("hand-made", datetime(2020, 3, 1, tzinfo=UTC), "the wrong box", "0")
    page = page_of(withdrawal=gone)
    band = page.split("<body")[1].split("</div>")[0]
    assert "WITHDRAWN on 2020-03-01 00:00 UTC: the wrong box. Not to be used any more." in band


def test_a_truth_is_marked_wherever_it_is(page_of: PageOf) -> None:
    city = make_city()
    layer = np.asarray(city.counts[0], dtype=np.float64)
    page = report_page(Contents(city, truth=SideBySide(0, layer, layer, layer)))
    assert page.count("NOT PRIVATE") == 2
    assert "true (not private)" in page
    assert "NOT PRIVATE" not in page_of()


@pytest.mark.parametrize("slices", [1, 2, 8, 24, 96])
@pytest.mark.parametrize("bars", [True, False])
def test_any_number_of_slices(page_of: PageOf, slices: int, bars: bool) -> None:
    outline = Outline(page_of(slices=slices, bars=bars))
    anchors = {attributes["id"] for attributes in outline.named("h2")}
    assert {"slices", "accuracy", "hotspots", "budget", "use", "cite", "statement"} <= anchors
    assert ("day" in anchors) == (slices > 1)
    assert ("rhythm" in anchors) == (slices > 1)
    assert ("gives no error bars" in outline.text) == (not bars)
    assert "nan" not in re.findall(r"[a-z]+", outline.text.lower())


def test_headings_are_in_order_and_pictures_have_words(page_of: PageOf) -> None:
    outline = Outline(page_of())
    levels = [int(tag[1]) for tag, _ in outline.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for attributes in outline.named("img"):
        assert "alt" in attributes
    for attributes in outline.named("svg"):
        assert attributes["role"] == "img"
        assert attributes["aria-label"]


def test_it_can_be_asked_by_its_own_lines(page_of: PageOf) -> None:
    text = Outline(page_of(output="out/it's")).text
    assert """read_release("out/it's", release_id='hand-made')""" in text
    assert "FROM delta.`out/it's/tables/cells`" in text
    assert "vdr query range CONF --box=" in text


def test_an_empty_city_has_a_report_too() -> None:
    nothing: Any = np.zeros((8, 6, 6))
    text = Outline(report_page(Contents(hand_made(nothing, nothing + 1)))).text
    assert "No cell can be told from zero." in text
