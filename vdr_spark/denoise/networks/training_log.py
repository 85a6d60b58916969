"""The log of a training: one JSON line per epoch, for people and plots. Read without PyTorch."""

from __future__ import annotations

import json
import posixpath

from vdr_spark.storage.files import exists, read_text, write_text


def write_training_log(folder: str, epochs: list[dict[str, float]]) -> None:
    """Write one JSON line per epoch; what a training continues from is in its checkpoint.

    Rewritten whole, as object stores cannot append; it is a page long.
    """
    write_text(_path(folder), "".join(json.dumps(epoch) + "\n" for epoch in epochs))


def read_training_log(folder: str) -> list[dict[str, float]]:
    """Return lines of `epoch, loss, reconstruction, pixels, perplexity, dead_codes, seconds, waiting_seconds, error`.

    There is none before epoch 1. `pixels` are those that the model was shown, codes are those of a codebook,
    `waiting_seconds` are those of `seconds` that were spent on data, `error` is the measure.
    """
    path = _path(folder)
    return [json.loads(line) for line in read_text(path).splitlines()] if exists(path) else []


def _path(folder: str) -> str:
    return posixpath.join(folder, "training.jsonl")
