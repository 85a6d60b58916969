"""Training by several processes, on the driver's GPUs or on the executors', started by Spark's TorchDistributor.

They write the same checkpoint and log as one process would, so whoever comes next cannot tell the difference: the
driver loads the result as a finished training, and a run that was killed is continued by any number of processes.
"""

from __future__ import annotations

import os
import posixpath
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from pyspark.ml.torch.distributor import TorchDistributor
from pyspark.sql import SparkSession
from torch import distributed

from vdr_spark.arrays import Slices
from vdr_spark.config.settings import AutoencoderSettings, DenoiseSettings
from vdr_spark.denoise.networks.device import choose_device, is_mixed
from vdr_spark.denoise.networks.training import Run, is_finished, read_training_log
from vdr_spark.denoise.priors.reconstruction import trained
from vdr_spark.errors import EnvironmentProblem, VdrError
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.storage.tensor_file import Tensor, read_tensor, write_tensor

_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class _Work:
    """What travels to the processes. The slices, which are noisy, go through a file that all can read."""

    slices: str
    cells: int
    noise: Noise
    settings: AutoencoderSettings
    folder: str
    device: str  # as the settings name it: each process looks for itself
    precision: str
    compiled: bool


def train_together(noisy: Slices, noise: Noise, run: Run, denoise: DenoiseSettings) -> None:
    """Train in several processes, unless that was done; needs an active Spark session."""
    if is_finished(run):
        return
    processes, on_executors = denoise.processes, denoise.processes_on == "executors"
    gpus = torch.cuda.device_count() if run.device.type == "cuda" else 0
    if not on_executors and (run.device.type == "mps" or 0 < gpus < processes):
        raise EnvironmentProblem(
            f"denoise.processes is {processes}, but this machine has {max(1, gpus)} GPU; lower it, or set "
            "denoise.device: cpu"
        )
    path = posixpath.join(run.folder, "slices.parquet")
    write_tensor(path, Tensor(noisy))
    cells, how = noisy.shape[-1], (denoise.device, denoise.precision, denoise.compile)
    work = _Work(path, cells, noise, run.settings, run.folder, *how)
    # On the driver each process takes the GPU of its number; executors get theirs from Spark.
    distributor = TorchDistributor(
        num_processes=processes, local_mode=not on_executors, use_gpu=on_executors and _executors_have_gpus()
    )
    with _threads_shared(processes), _progress_told(run):
        try:
            problem = distributor.run(_train_in_team, work)
        except RuntimeError as failure:
            last = str(failure).strip().splitlines()[-1]
            raise EnvironmentProblem(
                f"the {processes} training processes ended early ({last}); the same command continues after the last "
                "checkpoint, with denoise.processes: 1 in one process"
            ) from failure
    if problem is not None:
        raise problem


def _train_in_team(work: _Work) -> VdrError | None:
    """One of the processes. A user's mistake is handed back: raised here, it would be lost in a trace."""
    device = choose_device(work.device)
    if device.type == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    distributed.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")
    try:
        noisy = read_tensor(work.slices, work.cells).counts
        run = Run(work.settings, work.folder, device, is_mixed(work.precision, device), work.compiled)
        trained(noisy, work.noise, run)
    except VdrError as problem:
        return problem
    finally:
        distributed.destroy_process_group()
    return None


def _executors_have_gpus() -> bool:
    session = SparkSession.getActiveSession()
    return session is not None and float(session.conf.get("spark.task.resource.gpu.amount", "0") or 0) > 0


@contextmanager
def _threads_shared(processes: int) -> Iterator[None]:
    """Each process gets its share of the cores; torchrun would give it one, and say so."""
    name = "OMP_NUM_THREADS"
    before = os.environ.get(name)
    os.environ[name] = before or str(max(1, torch.get_num_threads() // processes))
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]


@contextmanager
def _progress_told(run: Run) -> Iterator[None]:
    """The log that the processes write, told line by line."""
    ended = threading.Event()
    told = len(read_training_log(run.folder))

    def tell() -> None:
        nonlocal told
        last = False
        while not last:
            last = ended.wait(_POLL_SECONDS)
            log = read_training_log(run.folder)
            for line in log[told:]:
                run.progress(line)
            told = max(told, len(log))

    watcher = threading.Thread(target=tell, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
