"""Room is looked at before anything is reserved: what certainly fails is refused, what probably fails is told."""

from collections.abc import Callable

from tests.conftest import ROOT
from vdr_spark.capacity import Machine, Need, find_shortages, list_needs
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.plan import Plan, make_plan
from vdr_spark.stage_log import RELEASE_STAGES
from vdr_spark.storage.free_space import Room

Small = Callable[..., ReleaseConfig]
GB = 1_000_000_000


class Has(Machine):
    """A machine with so much of everything; paths on a disk by their first letter."""

    def __init__(self, disk: float, memory: float, free_memory: float | None = None) -> None:
        self._disk, self._memory = disk, (int(memory), int(memory if free_memory is None else free_memory))

    def room(self, path: str) -> Room | None:
        return None if "://" in path else Room(ord(path[1]), int(self._disk), 10 * GB)

    def memory(self) -> tuple[int, int]:
        return self._memory


def houston(*overrides: str) -> Plan:
    return make_plan(load_config(ROOT / "conf/houston.yaml", ["output=/out", *overrides]))


def test_enough_is_enough() -> None:
    needs = list_needs(houston(), RELEASE_STAGES, ["/tmp"])
    assert find_shortages(needs, Has(disk=100 * GB, memory=64 * GB)) == []


def test_noise_does_not_compress() -> None:
    """31.9 million cells of noise of scale 9.2 hold 5.6 bits each."""
    needs = list_needs(houston(), ["collect"], [])
    (short,) = find_shortages(needs, Has(disk=10_000_000, memory=64 * GB))
    assert short.certain
    assert "the disk of /out has 10 MB free" in str(short)
    assert "at least 22.5 MB of it for sure" in str(short)
    assert "make room, or name another place by output" in str(short)
    (tight,) = find_shortages(needs, Has(disk=25_000_000, memory=64 * GB))
    assert not tight.certain
    assert "it will probably fill up" in str(tight)


def test_what_lies_on_one_disk_adds_up() -> None:
    needs = list_needs(houston(), RELEASE_STAGES, ["/other/spark"])  # the same first letter: the same disk
    (short,) = find_shortages(needs, Has(disk=2 * GB, memory=64 * GB))
    assert not short.certain
    for what in ("noisy slices", "shuffle files 4.42 GB", "denoised tensors 382 MB", "released cells 319 MB"):
        assert what in str(short)
    assert str(short).endswith("name another place by output or spark.conf.spark.local.dir")


def test_memory() -> None:
    needs = list_needs(houston(), ["denoise"], [])
    (short,) = find_shortages(needs, Has(disk=100 * GB, memory=0.3 * GB))
    assert short.certain
    assert "denoising takes about 3.19 GB of memory, and this machine has 300 MB in all" in str(short)
    (tight,) = find_shortages(needs, Has(disk=100 * GB, memory=4 * GB, free_memory=1 * GB))
    assert not tight.certain
    assert "1 GB is free now" in str(tight)


def test_stores_and_catalogs_are_not_judged() -> None:
    plan = houston("output=s3a://bucket/x", "single_writer=true")
    assert find_shortages(list_needs(plan, RELEASE_STAGES, []), Has(disk=0, memory=64 * GB)) == []
    named = houston("tables=main.mobility", "single_writer=true")
    assert {need.what for need in list_needs(named, RELEASE_STAGES, [])} == {
        "denoising",
        "denoised tensors",
        "refined tensors",
    }


def test_where_n_is_estimated_little_is_known(small_config: Small) -> None:
    plan = make_plan(
        small_config("privacy.total_pings=null", "privacy.estimate_total={share: 1/10, max_per_user: 100}")
    )
    assert [need.what for need in list_needs(plan, ["collect"], ["/tmp"])] == ["noisy slices"]


def test_this_machine_has_something() -> None:
    memory, room = Machine().memory(), Machine().room("/")
    assert memory is not None
    assert 0 < memory[1] <= memory[0]
    assert room is not None
    assert find_shortages([Need("nothing", "/", 0.0), Need("nothing", None, 0.0)], Machine()) == []
