"""A training run on disk: weights, optimiser and settings in one safetensors file, and a log beside it.

Safetensors and not pickles: a checkpoint that is opened cannot run code. Files are written beside and renamed
into place, so a kill leaves the previous checkpoint whole. Everything here was learnt from noisy counts.
"""

from __future__ import annotations

import json
import os
import posixpath
import tempfile
from dataclasses import asdict, dataclass
from typing import Any

import safetensors.torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.optim import Optimizer

from vdr_spark.errors import CheckpointMismatch
from vdr_spark.storage.files import exists, filesystem

_FORMAT = 3
_HEADER = {"format": int, "model": str, "settings": dict, "data": str, "log": list}
_WEIGHTS, _BEST, _OPTIMIZER = "model.", "best.", "optimizer."
_MOMENTS = {"step", "exp_avg", "exp_avg_sq"}  # that Adam keeps of a parameter


@dataclass(frozen=True)
class Identity:
    """What must be equal for a checkpoint to be continued."""

    model: str
    settings: dict[str, Any]  # as JSON knows them
    data: str  # fingerprint of the noisy tensor


@dataclass(frozen=True)
class Checkpoint:
    """A training as it was after some epochs."""

    identity: Identity
    log: list[dict[str, float]]  # of the epochs that are done
    tensors: dict[str, Tensor]

    @property
    def best_weights(self) -> dict[str, Tensor]:
        """The weights of the best epoch."""
        return _with_prefix(self.tensors, _BEST)

    def restore(self, model: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
        """Put weights, codebook and the optimiser's moments back in place. Returns the weights of the best epoch."""
        try:
            model.load_state_dict(self.best_weights)  # these must fit too
            model.load_state_dict(_with_prefix(self.tensors, _WEIGHTS))
            state: dict[int, dict[str, Tensor]] = {}
            for name, tensor in _with_prefix(self.tensors, _OPTIMIZER).items():
                parameter, _, moment = name.partition(".")
                state.setdefault(int(parameter), {})[moment] = tensor
            _check_moments(state, optimizer)
            optimizer.load_state_dict(optimizer.state_dict() | {"state": state})
        except (RuntimeError, ValueError, KeyError, IndexError) as problem:
            raise CheckpointMismatch(f"the checkpoint's weights do not fit the model: {problem}") from None
        return self.best_weights

    def restore_best(self, model: nn.Module) -> None:
        """Put the weights of the best epoch in place, to predict by; refused where they are of another shape."""
        try:
            model.load_state_dict(_with_prefix(self.tensors, _BEST))
        except RuntimeError:
            raise CheckpointMismatch("its weights are of another shape") from None


def checkpoint_path(folder: str) -> str:
    """Return where a folder keeps its checkpoint."""
    return posixpath.join(folder, "checkpoint.safetensors")


def save_checkpoint(
    folder: str,
    identity: Identity,
    log: list[dict[str, float]],
    model: nn.Module,
    optimizer: Optimizer,
    best: dict[str, Tensor],
) -> None:
    """Replace the folder's checkpoint by the state after the epochs of `log`, all of it or nothing.

    `best` are the weights of the best of them.
    """
    moments = {
        f"{parameter}.{moment}": tensor
        for parameter, state in optimizer.state_dict()["state"].items()
        for moment, tensor in state.items()
    }
    tensors = _add_prefix(_WEIGHTS, model.state_dict()) | _add_prefix(_BEST, best) | _add_prefix(_OPTIMIZER, moments)
    header = {"format": _FORMAT, "log": log, **asdict(identity)}
    # Safetensors keeps text only; the whole header is one JSON object under one key.
    raw = safetensors.torch.save(tensors, {"vdr": json.dumps(header, sort_keys=True)})
    _replace(checkpoint_path(folder), raw)


def load_checkpoint(folder: str) -> Checkpoint | None:
    """Return the folder's checkpoint, or None where there is none. A damaged or foreign file is refused."""
    path = checkpoint_path(folder)
    if not exists(path):
        return None
    try:
        notes, tensors = _read_safetensors(path)
    except SafetensorError as problem:
        raise CheckpointMismatch(f"{path} is damaged or truncated ({problem}); delete it to train anew") from None
    if not all(tensor.isfinite().all() for tensor in tensors.values()):
        raise CheckpointMismatch(f"{path} holds values that are no finite numbers; delete it to train anew")
    header = _parse_header(notes, path)
    return Checkpoint(Identity(header["model"], header["settings"], header["data"]), header["log"], tensors)


def resume(
    folder: str, expected: Identity, model: nn.Module, optimizer: Optimizer
) -> tuple[list[dict[str, float]], dict[str, Tensor]]:
    """Restore what the folder's checkpoint holds. Returns the log of its epochs, and the best one's weights.

    No epoch, and the model's own weights, where there is no checkpoint.
    """
    checkpoint = load_checkpoint(folder)
    if checkpoint is None:
        return [], model.state_dict()
    difference = _describe_difference(checkpoint.identity, expected)
    if difference:
        raise CheckpointMismatch(
            f"{checkpoint_path(folder)} belongs to another training: {difference}; "
            "delete it to train anew, or restore what was changed"
        )
    return checkpoint.log, checkpoint.restore(model, optimizer)


def _read_safetensors(path: str) -> tuple[dict[str, str], dict[str, Tensor]]:
    """Return the notes and the tensors of a file, by a local copy: safetensors opens no object store."""
    fs, inside = filesystem(path)
    with tempfile.TemporaryDirectory(prefix="vdr-checkpoint-") as folder:
        copy = os.path.join(folder, "copy.safetensors")
        fs.get_file(inside, copy)
        with safe_open(copy, "pt") as file:
            # Clones: what safetensors gives may lie in the copy itself, which is about to go.
            return file.metadata() or {}, {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118


def _parse_header(notes: dict[str, str], path: str) -> dict[str, Any]:
    """Return our header out of a file's notes; refuse what this version has not written."""
    try:
        header: dict[str, Any] = json.loads(notes.get("vdr", "{}"))
        ours = {name: type(header[name]) for name in _HEADER} == _HEADER and header["format"] == _FORMAT
        ours = ours and all(isinstance(epoch, dict) for epoch in header["log"])
    except (ValueError, LookupError, TypeError, RecursionError):
        ours = False
    if not ours:
        raise CheckpointMismatch(f"{path} was not written by this version of vdr_spark; delete it to train anew")
    return header


def _check_moments(state: dict[int, dict[str, Tensor]], optimizer: Optimizer) -> None:
    """Refuse moments that do not fit: Adam would take them as they are, and fail at its next step."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for number, moments in state.items():
        shapes = {name: tensor.shape for name, tensor in moments.items() if name != "step"}
        fits = moments.keys() == _MOMENTS and set(shapes.values()) == {parameters[number].shape}
        if not fits or moments["step"].numel() != 1 or moments["step"] < 0:
            raise ValueError(f"moments of parameter {number}")


def _describe_difference(stored: Identity, expected: Identity) -> str:
    """Say in words what keeps one training from continuing another; nothing, if nothing does."""
    if stored.model != expected.model:
        return f"its model is {stored.model}, not {expected.model}"
    keys = sorted(stored.settings.keys() | expected.settings.keys())
    changed = [key for key in keys if stored.settings.get(key) != expected.settings.get(key)]
    if changed:
        return ", ".join(
            f"its {key} is {stored.settings.get(key)}, not {expected.settings.get(key)}" for key in changed
        )
    return "" if stored.data == expected.data else "it was trained on another noisy tensor"


def _add_prefix(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    # Copies: safetensors refuses tensors that share memory, and the best epoch may be the last one.
    return {prefix + name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}


def _with_prefix(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _replace(path: str, content: bytes) -> None:
    """Write a file so that a reader, also one after a kill, sees either the old content or the new."""
    fs, inside = filesystem(path)
    fs.makedirs(posixpath.dirname(inside), exist_ok=True)
    fs.pipe_file(inside + ".tmp", content)
    fs.mv(inside + ".tmp", inside)
