"""Random words as tests need them: chosen ones, and none at all."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def these_words(*words: int) -> Callable[[int], NDArray[np.uint64]]:
    """Give these words, one after the other, and fail where more are asked for."""
    queue = list(words)
    return lambda n: np.array([queue.pop(0) for _ in range(n)], dtype=np.uint64)


def no_more_words(n: int) -> NDArray[np.uint64]:
    raise AssertionError(f"{n} more words were asked for")
