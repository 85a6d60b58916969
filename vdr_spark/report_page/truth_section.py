"""True, noisy and released side by side: for generated pings only, and only in a page that says it is not private."""

from __future__ import annotations

from dataclasses import dataclass

from vdr_spark.arrays import Floats
from vdr_spark.release.release import Release
from vdr_spark.report_page.map_sections import name_slice
from vdr_spark.report_page.maps import map_row
from vdr_spark.report_page.markup import Markup, element, paragraph, section

NOT_PRIVATE = (
    "NOT PRIVATE: this copy of the report shows exact counts. They are those of generated pings, which are nobody's. "
    "It is no part of the release."
)


@dataclass(frozen=True)
class SideBySide:
    """One slice as it was, as it was stored with its noise, and as it was released. (M, M) each"""

    number: int
    true: Floats
    noisy: Floats
    released: Floats


def truth_section(release: Release, truth: SideBySide) -> Markup:
    """Return the three maps with one scale."""
    words = paragraph(
        f"The slice from {name_slice(release, truth.number)}. Noisy slices such as the middle one are all that "
        "the right one was made from. They count the pings that were kept, before those are scaled up to all pings."
    )
    panels = [
        ("true (not private)", "Map of the exact counts of generated pings", truth.true),
        ("noisy, as stored", "Map of the noisy counts", truth.noisy),
        ("released", "Map of the released counts", truth.released),
    ]
    band = element("p", NOT_PRIVATE, class_="alarm")
    return section("truth", "Beside the truth", band, words, map_row(panels, release.grid, 384, "pings per cell"))
