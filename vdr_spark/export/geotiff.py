"""Cloud-optimised GeoTIFF: one band a slice, north up, for QGIS, ArcGIS and everything that GDAL reads.

Deviations lie in a second file, band for band the same slices: whoever adds up or animates the bands of a file must
not find errors among the counts. Bands are stored one after the other, so that one slice is read without the others;
the COG driver of GDAL 3.10, which rasterio for Python 3.11 brings along, cannot do that and mixes all slices in every
block. So the file is put together by the GeoTIFF driver, which that driver is built on, with its overviews first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rasterio
from rasterio._err import CPLE_BaseError
from rasterio.enums import Resampling
from rasterio.errors import RasterioError
from rasterio.shutil import copy
from rasterio.transform import from_bounds

from vdr_spark.arrays import Image
from vdr_spark.export.labels import labels_of
from vdr_spark.export.part import Part, Tile
from vdr_spark.progress import Update

_BLOCK = 256  # cells a side; also the size below which an overview is of no use
_CACHE_MB = 64  # of GDAL, which takes a twentieth of the machine's memory if nobody says
_TILES = {"tiled": True, "blockxsize": _BLOCK, "blockysize": _BLOCK, "interleave": "band", "bigtiff": "if_safer"}


@dataclass(frozen=True)
class _Layer:
    """What the bands of a file hold."""

    values: Callable[[Tile], Image | None]
    meaning: str
    resampling: Resampling  # of overviews
    overviews: str


class GeoTiff:
    """Writes `cells.tif` and, where the release has deviations, `cells.deviation.tif`."""

    @property
    def endings(self) -> tuple[str, ...]:
        return ".tif", ".tiff"

    def companions(self, path: Path) -> list[Path]:
        return [path.with_name(f"{path.stem}.deviation{path.suffix}")]

    def write(self, part: Part, paths: Sequence[Path], update: Update) -> None:
        """Write a file of counts, and one of deviations where there are any."""
        layers = [_counts(part)] if part.release.deviation is None else [_counts(part), _deviations(part)]
        with rasterio.Env(GDAL_CACHEMAX=_CACHE_MB), _tell_as_os_error():
            for number, (layer, path) in enumerate(zip(layers, paths, strict=False)):
                _write_layer(part, layer, path, _one_of(len(layers), number, part.size, update))


@contextmanager
def _tell_as_os_error() -> Iterator[None]:
    """Raise what GDAL says of a disk as what it is; rasterio gives some of it on as errors of a kind of its own."""
    try:
        yield
    except (CPLE_BaseError, RasterioError) as problem:
        raise OSError(f"GDAL says: {problem.__cause__ or problem}") from problem


def _one_of(layers: int, number: int, size: int, update: Update) -> Update:
    """Return what one of several layers tells its progress to, as a share of 1."""
    return lambda done, note: update((number + done) * size / layers, note)


def _counts(part: Part) -> _Layer:
    overviews = "an overview's pixel is the average count of the cells under it, not their sum"
    return _Layer(part.counts, "estimated pings in each cell and slice", Resampling.average, overviews)


def _deviations(part: Part) -> _Layer:
    overviews = "an overview's pixel is the root mean square of the cells under it: of a cell, not of their sum"
    return _Layer(part.deviation, "one standard deviation of each count", Resampling.rms, overviews)


def _write_layer(part: Part, layer: _Layer, path: Path, update: Update) -> None:
    """Write the bands plainly first: overviews have to lie before them, and can only be made after them."""
    plain = path.with_name(f"plain {path.name}")
    with rasterio.open(plain, "w", **_profile(part), **_TILES) as file:
        file.update_tags(**labels_of(part), meaning=layer.meaning, overviews=layer.overviews)
        for band, number in enumerate(part.slices, start=1):
            file.write(_north_up(layer, part, number), band)
            file.set_band_description(band, part.name_slice(number))
            update(0.5 * band / len(part.slices), part.name_slice(number))
        file.build_overviews(_factors(part), layer.resampling)
    copy(plain, path, driver="GTiff", copy_src_overviews=True, compress="deflate", predictor=3, **_TILES)
    plain.unlink()
    _compare(part, layer, path)
    update(1.0, "")


def _profile(part: Part) -> dict[str, object]:
    box, height, width = part.box, len(part.rows), len(part.columns)
    return {
        "driver": "GTiff",
        "dtype": "float32",
        "count": len(part.slices),
        "height": height,
        "width": width,
        "crs": "EPSG:4326",
        "transform": from_bounds(box.west, box.south, box.east, box.north, width, height),
    }


def _factors(part: Part) -> list[int]:
    """Return by how much overviews are coarser: 2, 4, ... as long as there is more than one block to save."""
    side = max(len(part.rows), len(part.columns))
    return [2**power for power in range(1, side.bit_length()) if side > _BLOCK * 2 ** (power - 1)]


def _north_up(layer: _Layer, part: Part, number: int) -> Image:
    values = layer.values(part.image(number))
    assert values is not None
    return values[::-1]  # our rows run from south to north


def _compare(part: Part, layer: _Layer, path: Path) -> None:
    """Read every band again: GDAL does not always tell when the end of a file found no room on the disk."""
    with rasterio.open(path) as file:
        for band, number in enumerate(part.slices, start=1):
            if not np.array_equal(file.read(band), _north_up(layer, part, number), equal_nan=True):
                raise OSError(f"band {band} reads otherwise than it was written")
