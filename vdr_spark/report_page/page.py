"""The report as a page: a head that cannot be misread, then one section after the other."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from importlib.resources import files

from vdr_spark.release.release import Release
from vdr_spark.report_page.accuracy import measure
from vdr_spark.report_page.budget_book import budget_section
from vdr_spark.report_page.codes_section import codes_section
from vdr_spark.report_page.contents import Contents
from vdr_spark.report_page.digest import Digest
from vdr_spark.report_page.figure_sections import (
    accuracy_section,
    hotspot_section,
    rhythm_section,
    training_section,
)
from vdr_spark.report_page.hotspots import Place, largest_hotspots
from vdr_spark.report_page.map_sections import day_section, error_map, period_map, slices_section, week_section
from vdr_spark.report_page.markup import Markup, element, join, paragraph
from vdr_spark.report_page.promise_section import facts, promise_words, statement_section
from vdr_spark.report_page.truth_section import NOT_PRIVATE, truth_section
from vdr_spark.report_page.use_section import cite_section, use_section

UNPROTECTED = "UNPROTECTED. Made with a test seed: this release protects nobody."
# A browser that obeys it fetches nothing and runs nothing, whatever a name in a table would like it to do.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def report_page(contents: Contents) -> str:
    """Return the report as a whole HTML document that holds everything it shows. Every text of it is escaped."""
    release = contents.release
    digest = Digest(release)
    places, accuracy = largest_hotspots(digest), measure(digest)
    parts = [
        slices_section(release),
        day_section(release),
        week_section(digest),
        truth_section(release, contents.truth) if contents.truth is not None else None,
        accuracy_section(release, accuracy, error_map(digest)),
        hotspot_section(places),
        rhythm_section(digest, accuracy),
        training_section(contents.training),
        codes_section(contents.codes) if contents.codes is not None else None,
        budget_section(release, contents.book),
        use_section(release, contents.conf),
        cite_section(release),
        statement_section(release),
    ]
    sections = [part for part in parts if part is not None]
    main = element("main", _head(digest, places), _contents_list(sections), *sections, _foot(contents))
    body = element("body", _bands(contents), main, class_=_state(contents))
    return f'<!doctype html>\n<html lang="en">{_document_head(release)}{body}</html>\n'


def _document_head(release: Release) -> Markup:
    style = Markup((files("vdr_spark.resources") / "report.css").read_text())
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"Report on release {release.release_id}"),
        element("style", style),
    )


def _state(contents: Contents) -> str | None:
    """Return how the page is marked: what has bands, and among it what should not be used."""
    release = contents.release
    if not release.protected or release.withdrawal is not None:
        return "banded alarmed"
    return None if contents.truth is None else "banded"


def _bands(contents: Contents) -> Markup:
    """Return what nobody may miss, in bands that stay on the screen and come again on every printed page."""
    release, words = contents.release, []
    if not release.protected:
        words.append(UNPROTECTED)
    if release.withdrawal is not None:
        words.append(f"{release.withdrawal.banner}. Not to be used any more.")
    if contents.truth is not None:
        words.append(NOT_PRIVATE)
    return element("div", *(element("p", text) for text in words), class_="bands", role="alert") if words else join([])


def _head(digest: Digest, places: list[Place]) -> Markup:
    release = digest.release
    region = f", {release.region}" if release.region else ""
    title = element("h1", f"Where and when people are: {release.dataset}{region}")
    number = paragraph("Report on release ", element("code", release.release_id), class_="id")
    left = element("div", promise_words(release), facts(release))
    picture = element("div", period_map(digest, places), class_="hero")
    return element("header", title, number, element("div", left, picture, class_="split"))


def _contents_list(sections: list[Markup]) -> Markup:
    """Return links to all sections."""
    found = (re.search(r'<h2 id="([a-z]+)">(.*?)</h2>', part) for part in sections)
    links = [element("a", Markup(match[2]), href=f"#{match[1]}") for match in found if match]
    return element("nav", *links, aria_label="Parts of this report")


def _foot(contents: Contents) -> Markup:
    signed = element(
        "div",
        *(element("div", element("span", words)) for words in ("Read and approved by", "Place and date")),
        class_="signature",
    )
    sources = "the released tables and the ledger alone"
    if contents.truth is not None:
        sources = "the released tables, the ledger and, in one part, exact counts of generated pings"
    made = (
        f"Made on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC from {sources}. This file is all of it: nothing is fetched, "
        f"and nothing runs. Release {contents.release.release_id}."
    )
    return element("footer", signed, paragraph(made))
