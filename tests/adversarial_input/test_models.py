"""Model files that mean harm run nothing and are refused in a sentence; nothing of ours could run them."""

import ast
import json
import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors
import safetensors.torch
import torch
from torch import Tensor

from tests.conftest import ROOT
from tests.denoise.networks.test_checkpoint import IDENTITY, saved, trained
from vdr_spark.denoise.networks.checkpoint import resume
from vdr_spark.errors import CheckpointMismatch

HEADER = {"format": 3, "log": [], "model": "vqvae", "settings": IDENTITY.settings, "data": IDENTITY.data}


def safetensors_of(header: object, body: bytes = b"", length: int | None = None) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def noted(note: object) -> dict[str, dict[str, str]]:
    return {"__metadata__": {"vdr": note if isinstance(note, str) else json.dumps(note)}}


def tensor_of(shape: list[int], kind: str = "F32") -> dict[str, dict[str, object]]:
    return {"model.weight": {"dtype": kind, "shape": shape, "data_offsets": [0, 8]}}


def refusal_of(folder: Path, content: bytes) -> str:
    (folder / "checkpoint.safetensors").write_bytes(content)
    with pytest.raises(CheckpointMismatch) as refusal:
        resume(str(folder), IDENTITY, *trained())
    return str(refusal.value)


class Payload:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return open, (str(self.path), "w")


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_pickle_is_not_run(tmp_path: Path, protocol: int) -> None:
    payload = pickle.dumps(Payload(tmp_path / "harm"), protocol)
    assert "damaged" in refusal_of(tmp_path, payload)
    # In the places where a file's own text stands.
    assert "damaged" in refusal_of(tmp_path, struct.pack("<Q", len(payload)) + payload)
    assert "not written by" in refusal_of(tmp_path, safetensors_of(noted(payload.decode("latin-1"))))
    assert not (tmp_path / "harm").exists()
    pickle.loads(payload)
    assert (tmp_path / "harm").exists()  # it would have been


def test_a_checkpoint_of_torch_is_not_opened(tmp_path: Path) -> None:
    torch.save({"model.weight": torch.ones(2, 3), "x": Payload(tmp_path / "harm")}, tmp_path / "torch.pt")
    assert "damaged" in refusal_of(tmp_path, (tmp_path / "torch.pt").read_bytes())
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(safetensors_of({}, length=2**62), "damaged", id="a header larger than the file"),
        pytest.param(safetensors_of({}, length=2**64 - 1), "damaged", id="a header larger than anything"),
        pytest.param(struct.pack("<Q", 3) + b"\xff\xfe{", "damaged", id="a header that is no text"),
        pytest.param(safetensors_of([1]), "damaged", id="a header that is a list"),
        pytest.param(safetensors_of(noted(HEADER) | tensor_of([2**40]), bytes(8)), "damaged", id="a shape that lies"),
        pytest.param(safetensors_of(noted(HEADER) | tensor_of([2**63] * 2), bytes(8)), "damaged", id="an overflow"),
        pytest.param(safetensors_of(noted(HEADER) | tensor_of([2], "F99"), bytes(8)), "damaged", id="an unknown type"),
        pytest.param(safetensors_of(noted("{")), "not written by", id="notes that are no JSON"),
        pytest.param(safetensors_of(noted("[" * 100_000)), "not written by", id="notes of brackets"),
        pytest.param(safetensors_of(noted([1])), "not written by", id="notes that are a list"),
        pytest.param(safetensors_of(noted({"format": 3})), "not written by", id="notes that lack all"),
        pytest.param(
            safetensors_of(noted(HEADER | {"settings": "x"})), "not written by", id="settings of another type"
        ),
        pytest.param(safetensors_of(noted(HEADER | {"log": [1]})), "not written by", id="a log of another type"),
        pytest.param(safetensors_of(noted(HEADER)), "do not fit", id="no weights"),
    ],
)
def test_a_forged_checkpoint_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    assert words in refusal_of(tmp_path, content)


Tensors = dict[str, Tensor]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"model.weight": torch.full((2, 3), torch.nan)}, "no finite numbers", id="NaN weights"),
        pytest.param({"best.weight": torch.full((2, 3), torch.inf)}, "no finite numbers", id="infinite weights"),
        pytest.param({"optimizer.0.exp_avg": torch.full((2, 3), torch.nan)}, "no finite numbers", id="NaN moments"),
        pytest.param({"model.weight": torch.ones(3, 2)}, "do not fit", id="weights of another shape"),
        pytest.param({"best.bias": torch.ones(7)}, "do not fit", id="best weights of another shape"),
        pytest.param({"optimizer.0.exp_avg": torch.ones(7)}, "do not fit", id="moments of another shape"),
        pytest.param({"optimizer.0.exp_avg": None}, "do not fit", id="a moment is missing"),
        pytest.param({"optimizer.0.step": torch.tensor(-5.0)}, "do not fit", id="a step before the first"),
        pytest.param({"optimizer.99.step": torch.tensor(1.0)}, "do not fit", id="moments of no parameter"),
        pytest.param({"optimizer.x.step": torch.tensor(1.0)}, "do not fit", id="moments of a word"),
    ],
)
def test_tensors_that_do_not_belong_are_refused(tmp_path: Path, change: dict[str, Tensor | None], words: str) -> None:
    saved(tmp_path)
    file = tmp_path / "checkpoint.safetensors"
    with safetensors.safe_open(file, "pt") as opened:
        notes = opened.metadata()
    tensors = {name: t for name, t in (safetensors.torch.load_file(file) | change).items() if t is not None}
    assert words in refusal_of(tmp_path, safetensors.torch.save(tensors, notes))


# What turns bytes or text into code. `yaml.load` is in one place, with a loader that makes plain values only.
NEVER = {
    *("eval", "exec", "compile", "__import__", "os.system", "os.popen"),
    *("pickle.load", "pickle.loads", "dill.load", "cloudpickle.load", "joblib.load", "marshal.loads", "shelve.open"),
    *("torch.load", "np.load", "numpy.load", "pd.read_pickle", "pandas.read_pickle"),
    *("yaml.unsafe_load", "yaml.full_load", "yaml.load_all"),
}
LOADS_YAML = {("plain_yaml.py", "yaml.load")}


def calls_in(file: Path) -> set[str]:
    calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    return {ast.unparse(call.func) for call in calls}


def imports_in(file: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(file.read_text())))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


def test_nothing_of_ours_runs_what_it_reads() -> None:
    files = [file for folder in ("vdr_spark", "jobs") for file in (ROOT / folder).rglob("*.py")]
    assert len(files) > 50
    assert {(f.name, call) for f in files for call in calls_in(f) & (NEVER | {"yaml.load"})} == LOADS_YAML
    pickles = {"pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
    assert not [file for file in files if imports_in(file) & pickles]


def test_the_loader_of_yaml_is_a_safe_one() -> None:
    import yaml

    from vdr_spark.config.plain_yaml import _PlainLoader

    assert issubclass(_PlainLoader, yaml.SafeLoader)
    assert not any("python" in str(tag) for tag in _PlainLoader.yaml_constructors)
