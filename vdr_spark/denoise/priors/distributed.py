"""Training of an autoencoder by several processes, on the driver's GPUs or on the executors'.

They write the same checkpoint and log as one process would, so whoever comes next cannot tell the difference: the
driver loads the result as a finished training, and a run that was killed is continued by any number of processes.
Who starts the processes is handed in (`Launcher`): nothing here knows Spark.
"""

from __future__ import annotations

import os
import posixpath
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import distributed

from vdr_spark.arrays import Slices
from vdr_spark.config.denoise import AutoencoderSettings, DenoiseSettings
from vdr_spark.denoise.launcher import Launcher
from vdr_spark.denoise.networks.device import choose_device, is_mixed
from vdr_spark.denoise.networks.training import Run, is_finished, read_training_log
from vdr_spark.denoise.priors.reconstruction import train_reconstructor
from vdr_spark.errors import EnvironmentProblem, VdrError
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.storage.tensor_file import Tensor, read_tensor, write_tensor

_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Work:
    """What travels to the processes. The slices, which are noisy, go through a file that all can read."""

    slices: str
    cells_per_side: int
    noise: Noise
    settings: AutoencoderSettings
    folder: str
    device: str  # as the settings name it: each process looks for itself
    precision: str
    compiled: bool


def train_distributed(noisy: Slices, noise: Noise, run: Run, denoise: DenoiseSettings, launch: Launcher | None) -> None:
    """Train in several processes, unless that was done."""
    if is_finished(run):
        return
    processes, on_executors = denoise.processes, denoise.processes_on == "executors"
    if launch is None:
        raise EnvironmentProblem(
            f"denoise.processes is {processes}, but nothing here can start processes; set it to 1, or release with a "
            "Spark session, whose TorchDistributor starts them"
        )
    _check_gpus(run.device, processes, on_executors)
    path = posixpath.join(run.folder, "slices.parquet")
    write_tensor(path, Tensor(noisy))
    how = (denoise.device, denoise.precision, denoise.compile)
    work = Work(path, noisy.shape[-1], noise, run.settings, run.folder, *how)
    with _share_threads(processes), _report_log(run):
        problem = _launch(launch, work, processes, on_executors)
    if problem is not None:
        raise problem


def train_rank(work: Work) -> VdrError | None:
    """Train as one of the processes. A user's mistake is handed back: raised here, it would be lost in a trace."""
    device = choose_device(work.device)
    if device.type == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    distributed.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")
    try:
        noisy = read_tensor(work.slices, work.cells_per_side).counts
        run = Run(work.settings, work.folder, device, is_mixed(work.precision, device), work.compiled)
        train_reconstructor(noisy, work.noise, run)
    except VdrError as problem:
        return problem
    finally:
        distributed.destroy_process_group()
    return None


def _launch(launch: Launcher, work: Work, processes: int, on_executors: bool) -> VdrError | None:
    train: Callable[[Work], VdrError | None] = train_rank
    try:
        return launch(train, work, processes, on_executors)
    except RuntimeError as failure:
        last = str(failure).strip().splitlines()[-1]
        raise EnvironmentProblem(
            f"the {processes} training processes ended early ({last}); the same command continues after the last "
            "checkpoint, with denoise.processes: 1 in one process"
        ) from failure


def _check_gpus(device: torch.device, processes: int, on_executors: bool) -> None:
    """Refuse more processes than the driver has GPUs; executors get theirs from Spark."""
    gpus = torch.cuda.device_count() if device.type == "cuda" else 0
    if not on_executors and (device.type == "mps" or 0 < gpus < processes):
        raise EnvironmentProblem(
            f"denoise.processes is {processes}, but this machine has {max(1, gpus)} GPU; lower it, or set "
            "denoise.device: cpu"
        )


@contextmanager
def _share_threads(processes: int) -> Iterator[None]:
    """Give each process its share of the cores; torchrun would give it one, and say so."""
    name = "OMP_NUM_THREADS"
    before = os.environ.get(name)
    os.environ[name] = before or str(max(1, torch.get_num_threads() // processes))
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]


@contextmanager
def _report_log(run: Run) -> Iterator[None]:
    """Report the log that the processes write, line by line."""
    ended = threading.Event()
    reported = len(read_training_log(run.folder))

    def report() -> None:
        nonlocal reported
        last = False
        while not last:
            last = ended.wait(_POLL_SECONDS)
            log = read_training_log(run.folder)
            for line in log[reported:]:
                run.progress(line)
            reported = max(reported, len(log))

    watcher = threading.Thread(target=report, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
