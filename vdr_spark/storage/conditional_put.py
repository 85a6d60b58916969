"""What exclusion rests on where there is no disk to lock: a store that creates an object once, whoever tries.

"Put this unless there is something" (If-None-Match: *) is one request, and the store itself decides: of any number of
processes that put the same name, however late their requests arrive, one is told yes. S3, Azure and Google have it.
Some servers that speak S3's language take the request and ignore the condition, or look first and write then: two are
told yes. So before a store is relied on, it is tried (`prove`): several puts of one new name at once, of which one
must be let through.

A yes may get lost on its way, and the library then asks again and hears no. So what is put holds something of its
writer's own, and after a no it is read back: who finds it was first.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

from vdr_spark.errors import EnvironmentProblem
from vdr_spark.storage.store_access import rust_options, scheme_of

_PROOF = "vdr-conditional-put-"  # begins the name of the object that is put, tried and removed
_RIVALS = 8
# A minute, not three: who wrote a wrong address wants to know.
_RETRY: Any = {"max_retries": 6, "retry_timeout": timedelta(seconds=60)}


class NoConditionalPut(EnvironmentProblem):
    """A place where nothing can be created once and for all; says why."""


class StoreUnreachable(EnvironmentProblem):
    """A store that did not answer, or refused."""


@dataclass(frozen=True)
class Found:
    """An object of a folder."""

    name: str  # below the folder
    size: int  # bytes
    modified_ms: int


class StoreFolder:
    """A folder of an object store."""

    def __init__(self, location: str, store: Any) -> None:
        """`store` is one of obstore's, whose root is the folder."""
        self.location, self._store = location, store

    def create_if_absent(self, name: str, content: bytes) -> bool:
        """Put an object unless there is one of its name; False where another's is there. Content must be unique."""
        import obstore

        with _naming_trouble(self.location):
            try:
                obstore.put(self._store, name, content, mode="create", use_multipart=False)
            except obstore.exceptions.AlreadyExistsError:
                return self.read(name) == content  # ours, where the first answer got lost
            except obstore.exceptions.NotSupportedError:
                raise NoConditionalPut(f"{self.location} is in a store without conditional puts") from None
        return True

    def replace(self, name: str, content: bytes) -> None:
        """Put an object, whatever was there."""
        import obstore

        with _naming_trouble(self.location):
            obstore.put(self._store, name, content, use_multipart=False)

    def read(self, name: str) -> bytes | None:
        """Return an object; None where there is none."""
        import obstore

        with _naming_trouble(self.location):
            try:
                return bytes(obstore.get(self._store, name).bytes())
            except FileNotFoundError:
                return None

    def find(self, prefix: str = "") -> list[Found]:
        """Return what is below a folder of this one, in the order of names."""
        import obstore

        with _naming_trouble(self.location):
            objects = [item for part in obstore.list(self._store, prefix or None) for item in part]
        found = [Found(o["path"], o["size"], int(o["last_modified"].timestamp() * 1000)) for o in objects]
        return sorted(found, key=lambda item: item.name)

    def remove(self, *names: str) -> None:
        import obstore

        with _naming_trouble(self.location):
            for name in names:
                obstore.delete(self._store, name)


@contextmanager
def _naming_trouble(location: str) -> Iterator[None]:
    """Turn what obstore says into a sentence: its own words may quote a request, and with it who asked."""
    from obstore.exceptions import BaseError

    try:
        yield
    except (BaseError, OSError, TimeoutError) as problem:
        raise StoreUnreachable(
            f"{location} cannot be reached or written to ({type(problem).__name__}): look at the address, the region "
            "and the credentials (the environment, the machine's role, or spark.hadoop.fs.s3a.*)"
        ) from None


def open_folder(location: str) -> StoreFolder:
    """Open a folder of an object store; nothing is asked yet. `NoConditionalPut` where it is none that we know."""
    if scheme_of(location) is None:
        raise NoConditionalPut(
            f"{location} is neither in S3 (s3a://), Azure (abfss://) nor Google's store (gs://), which create an "
            "object once, whoever tries"
        )
    try:
        from obstore.store import from_url
    except ModuleNotFoundError:
        raise NoConditionalPut(
            f"{location} is in an object store, where a second process is kept out by conditional puts, and the "
            "package obstore, which makes them, is not installed; run: pip install vdr-spark[stores]"
        ) from None
    options: Any = rust_options(location)  # their names depend on the store
    client: Any = {"allow_http": True} if options.pop("aws_allow_http", None) else {}
    try:
        return StoreFolder(location, from_url(location, config=options, client_options=client, retry_config=_RETRY))
    except Exception as problem:  # obstore has no common class for what it dislikes about settings, and may quote them
        raise StoreUnreachable(f"{location} cannot be opened ({type(problem).__name__}); look at its address") from None


_proven: dict[str, str | None] = {}  # by store: why it cannot be relied on; None where it can


def find_proven_folder(location: str) -> StoreFolder | str:
    """Return a folder whose store was seen to let one of several puts through, or in words why there is none."""
    try:
        folder = open_folder(location)
        store = _store_of(location)
        if store not in _proven:
            _proven[store] = _find_fault(folder)
    except NoConditionalPut as problem:
        return str(problem)
    return _proven[store] or folder


def do_without(location: str, why: str) -> None:
    """Take it, in this process, that a store has no conditional puts: where there is no second writer to keep out."""
    _proven[_store_of(location)] = why


def _store_of(location: str) -> str:
    return location.partition("://")[2].partition("/")[0]


def _find_fault(folder: StoreFolder) -> str | None:
    try:
        prove(folder)
    except NoConditionalPut as problem:
        return str(problem)
    return None


def prove(folder: StoreFolder) -> None:
    """Try whether of several puts of one name at once the store lets one through; `NoConditionalPut` where not."""
    name = f"{_PROOF}{uuid4().hex}"
    rivals = [uuid4().bytes for _ in range(_RIVALS)]
    with ThreadPoolExecutor(_RIVALS) as pool:
        won = list(pool.map(lambda content: folder.create_if_absent(name, content), rivals))
    late, kept = folder.create_if_absent(name, b"late"), folder.read(name)
    with suppress(StoreUnreachable):  # a store may forbid to delete, and that is well
        folder.remove(name)
    if won.count(True) != 1 or late or kept != rivals[won.index(True)]:
        raise NoConditionalPut(
            f"the store of {folder.location} takes conditional puts and does not keep the condition: of {_RIVALS} "
            f"processes that created one object at once it told {won.count(True)} that they were the first"
        )
