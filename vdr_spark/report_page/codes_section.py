"""What the codes of the paper's VQ-VAE look like, where a release was made with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vdr_spark.report_page.markup import Markup, element, join, paragraph, section
from vdr_spark.report_page.png import INFERNO, LEVELS, data_url, encode_png, palette

if TYPE_CHECKING:
    from vdr_spark.denoise.networks.code_tiles import CodeTiles

_LEAST_SHARE = 1e-4  # of all places: a code that stands for less is as good as unused
_MOST_SHOWN = 128


def codes_section(codes: CodeTiles) -> Markup:
    """Return one tile for each code that is in use, from the emptiest to the busiest."""
    used = np.flatnonzero(codes.shares >= _LEAST_SHARE)
    shown = used[np.linspace(0, len(used) - 1, min(_MOST_SHOWN, len(used))).round().astype(int)] if len(used) else used
    words = paragraph(
        f"The denoiser writes a slice in an alphabet of {len(codes.shares)} codes, one for every 4 x 4 cells, of which "
        f"{len(used)} are in use. Each tile is one code, decoded by itself: what repeats in the city, from empty "
        "country (first) to its busiest streets (last). The figure is the share of places that it won in training."
    )
    tiles = element("div", *_tiles(codes, shown), class_="codes", role="img", aria_label="Tiles of the codes in use")
    return section("codes", "The alphabet of the denoiser", words, tiles)


def _tiles(codes: CodeTiles, shown: NDArray[np.int64]) -> Iterator[Markup]:
    low, high = (float(np.percentile(codes.tiles[shown], share)) if len(shown) else 0.0 for share in (0.5, 99.5))
    colours = palette(INFERNO)
    for number in shown:
        scaled = ((codes.tiles[number] - low) / max(high - low, 1e-12)).clip(0, 1)
        levels = (np.sqrt(scaled) * (LEVELS - 1)).round().astype(np.uint8)  # the root shows what is faint
        picture = element("img", src=data_url(encode_png(levels, colours)), alt="")
        yield element("span", picture, join([f"{100 * codes.shares[number]:.2g} %"]))
