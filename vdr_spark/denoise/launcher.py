"""Who starts training processes: handed in from outside, so that denoising knows no Spark and no cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Launcher(Protocol):
    """Starts processes that can form one of PyTorch's process groups (`RANK`, `WORLD_SIZE`, `MASTER_ADDR` are set).

    `vdr_spark.spark.torch_launcher` has the one that Spark brings along.
    """

    def __call__(
        self, function: Callable[[Argument], Result], argument: Argument, processes: int, on_executors: bool, /
    ) -> Result:
        """Call the function in every process, and return what the process of rank 0 returns.

        Raises RuntimeError where a process ends early.
        """
        ...
