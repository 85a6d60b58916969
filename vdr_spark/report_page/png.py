"""Numbers as a small picture: one byte a pixel, a palette, and PNG's own compression. No library is needed."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The colours of Matplotlib's scales at equal steps. Both grow lighter evenly, so that they read in grey and by people
# who tell no red from green: counts are shown in one, errors in the other, so that nobody takes one for the other.
INFERNO = (
    "000004 07051b 160b39 2b0b57 420a68 57106e 6a176e 7f1e6c 932667 a82e5f bc3754 cc4248 dd513a ea632a f37819 f98e09 "
    "fca50a fbbe23 f6d746 f1ef75 fcffa4"
)
CIVIDIS = (
    "00224e 002b62 083370 243c6e 35456c 434e6c 4f576c 5b606e 666970 727274 7d7c78 888578 948e77 a19975 aea371 bcae6c "
    "c8b866 d6c35d e5cf52 f3db42 fee838"
)
CIVIDIS_REVERSED = " ".join(reversed(CIVIDIS.split()))
LEVELS = 96  # colours that are used of a scale: an eye tells no more apart, and files are a third smaller than with 256


def palette(scale: str) -> NDArray[np.uint8]:
    """Return so many colours of a scale, evenly spaced. (LEVELS, 3)"""
    known = np.array([[int(colour[at : at + 2], 16) for at in (0, 2, 4)] for colour in scale.split()], dtype=float)
    at = np.linspace(0, len(known) - 1, LEVELS)
    colours = np.stack([np.interp(at, np.arange(len(known)), channel) for channel in known.T], axis=1)
    return colours.round().astype(np.uint8)


def encode_png(levels: NDArray[np.uint8], colours: NDArray[np.uint8]) -> bytes:
    """Return pixels (H, W), the numbers of colours (n, 3), as a PNG."""
    height, width = levels.shape
    rows = np.zeros((height, width + 1), dtype=np.uint8)  # each begins with its filter: none
    rows[:, 1:] = levels
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)  # 8 bits, by palette
    chunks = (
        (b"IHDR", header),
        (b"PLTE", colours.tobytes()),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in chunks)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def data_url(png: bytes) -> str:
    """Return a picture as an address that holds all of it."""
    return "data:image/png;base64," + base64.b64encode(png).decode()


def shrink(layer: NDArray[Any], most: int) -> NDArray[Any]:
    """Return a map (M, M) by the means of squares of cells, with at most so many along each side.

    Means, so that a colour says pings per cell whatever the size of the picture.
    """
    step = -(-layer.shape[0] // most)
    if step == 1:
        return layer
    side = -(-layer.shape[0] // step)
    padded = np.pad(layer, (0, side * step - layer.shape[0]), mode="edge")
    means: NDArray[Any] = padded.reshape(side, step, side, step).mean(axis=(1, 3))
    return means
