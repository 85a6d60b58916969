"""Training processes started by Spark's TorchDistributor: the `Launcher` of `vdr_spark.denoise`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from pyspark.sql import SparkSession

from vdr_spark.spark.settings import read_setting

Argument = TypeVar("Argument")
Result = TypeVar("Result")


def launch_with_spark(
    function: Callable[[Argument], Result], argument: Argument, processes: int, on_executors: bool
) -> Result:
    """Call a function in several processes, on the driver or on executors; needs an active Spark session.

    On the driver each process takes the GPU of its number; executors get theirs from Spark.
    """
    from pyspark.ml.torch.distributor import TorchDistributor  # all of pyspark.ml: only where processes are started

    distributor = TorchDistributor(
        num_processes=processes, local_mode=not on_executors, use_gpu=on_executors and _executors_have_gpus()
    )
    return cast(Result, distributor.run(function, argument))


def _executors_have_gpus() -> bool:
    session = SparkSession.getActiveSession()
    return session is not None and float(read_setting(session, "spark.task.resource.gpu.amount") or 0) > 0
