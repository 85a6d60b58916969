"""Before anything is reserved: a store that was not seen to keep a second process out is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.storage.folders import careless, in_memory
from vdr_spark.collect.exclusion import _require_conditional_puts, respect_single_writer
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import InvalidConfig
from vdr_spark.plan import make_plan
from vdr_spark.storage import conditional_put
from vdr_spark.storage.conditional_put import StoreFolder, StoreUnreachable
from vdr_spark.storage.store_log import open_log_to_write

Small = Callable[..., ReleaseConfig]
IN_A_STORE = ("output=s3a://bucket/out", "ledger=s3a://bucket/ledger")


@pytest.fixture(autouse=True)
def nothing_proven() -> Iterator[None]:
    conditional_put._proven.clear()
    yield
    conditional_put._proven.clear()


def test_a_store_that_keeps_its_word_is_taken(small_config: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditional_put, "open_folder", in_memory)
    _require_conditional_puts(make_plan(small_config(*IN_A_STORE)))


def test_one_that_does_not_is_refused_unless_a_person_vouches(
    small_config: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conditional_put, "open_folder", careless)
    with pytest.raises(InvalidConfig, match=r"ledger: .*does not keep the condition.*nothing was reserved.*single_wri"):
        _require_conditional_puts(make_plan(small_config(*IN_A_STORE)))
    _require_conditional_puts(make_plan(small_config(*IN_A_STORE, "single_writer=true")))


def test_a_store_that_does_not_answer_is_an_error_unless_a_person_vouches(
    small_config: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time, and not once: a moment without an answer must not make Spark commit where others do, too."""

    def unreachable(folder: StoreFolder) -> None:
        raise StoreUnreachable(f"{folder.location} cannot be reached")

    monkeypatch.setattr(conditional_put, "open_folder", in_memory)
    monkeypatch.setattr(conditional_put, "prove", unreachable)
    several, one = make_plan(small_config(*IN_A_STORE)), make_plan(small_config(*IN_A_STORE, "single_writer=true"))
    for _ in range(2):
        respect_single_writer(several)
        with pytest.raises(StoreUnreachable):
            _require_conditional_puts(several)
        with pytest.raises(StoreUnreachable):
            open_log_to_write("s3a://bucket/ledger")
    respect_single_writer(one)
    _require_conditional_puts(one)
    assert open_log_to_write("s3a://bucket/ledger") is None  # Spark commits, as it did before


def test_a_disk_is_not_tried(small_config: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditional_put, "open_folder", lambda _: pytest.fail("was tried"))
    _require_conditional_puts(make_plan(small_config()))
