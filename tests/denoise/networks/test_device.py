import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from vdr_spark.denoise.networks.device import autocast, choose_device, is_mixed
from vdr_spark.errors import EnvironmentProblem


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch):
    def pretend(cuda: bool, mps: bool) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    return pretend


@pytest.mark.parametrize(
    ("cuda", "mps", "chosen"),
    [(False, False, "cpu"), (True, False, "cuda"), (False, True, "mps"), (True, True, "cuda")],
)
def test_auto_takes_a_gpu_where_there_is_one(gpus, cuda: bool, mps: bool, chosen: str) -> None:
    gpus(cuda, mps)
    assert choose_device("auto").type == chosen


def test_cpu_is_kept_where_there_is_a_gpu(gpus) -> None:
    gpus(True, True)
    assert choose_device("cpu").type == "cpu"


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_a_gpu_that_is_not_there_is_refused_with_what_to_do(gpus, name: str) -> None:
    gpus(False, False)
    with pytest.raises(EnvironmentProblem, match=f"denoise.device is {name}.*auto or cpu"):
        choose_device(name)


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(EnvironmentProblem, match="'tpu'"):
        choose_device("tpu")


@pytest.mark.parametrize(
    ("precision", "device", "has_bfloat16", "mixed"),
    [
        ("auto", "cpu", True, False),
        ("auto", "cuda", True, True),
        ("auto", "cuda", False, False),
        ("float32", "cpu", True, False),
        ("mixed", "cuda", False, True),
        ("mixed", "mps", False, True),
        ("float32", "cuda", True, False),
    ],
)
def test_mixed_precision_where_it_is_asked_for_or_pays(
    monkeypatch: pytest.MonkeyPatch, precision: str, device: str, has_bfloat16: bool, mixed: bool
) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: has_bfloat16)
    assert is_mixed(precision, torch.device(device)) is mixed


@pytest.mark.parametrize("has_bfloat16", [False, True])
def test_mixed_precision_on_a_cpu_is_refused_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, has_bfloat16: bool
) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: has_bfloat16)
    with pytest.raises(EnvironmentProblem, match=r"denoise\.precision is mixed.*for GPUs.*auto or float32"):
        is_mixed("mixed", torch.device("cpu"))


def test_what_is_computed_in_mixed_precision_is_bfloat16() -> None:
    """With fake tensors, which have types and shapes and nothing to compute: the processor is not asked."""
    cpu = torch.device("cpu")
    with FakeTensorMode():
        layer = torch.nn.Linear(2, 2)
        for mixed, kind in ((True, torch.bfloat16), (False, torch.float32)):
            with autocast(cpu, mixed):
                assert layer(torch.ones(1, 2)).dtype == kind
