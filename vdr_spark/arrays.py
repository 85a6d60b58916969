"""The array types that modules share, so that a signature says what a tensor holds. Shapes stand in docstrings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Slices = NDArray[np.float32]
"""Counts, or something of the same size: time slices as images. (T, M, M)"""

Image = NDArray[np.float32]
"""One slice, or something of the same size (M, M); with leading axes where a docstring says so."""

Floats = NDArray[np.float64]
"""Numbers that are computed with in double precision."""

Integers = NDArray[np.int64]
"""Exact counts, indices, noise in integer units."""

Mask = NDArray[np.bool_]
"""Which elements are chosen."""
