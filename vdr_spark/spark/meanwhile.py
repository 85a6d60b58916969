"""Modules that are loaded while this process waits for another one, as Java, to start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Thread


@contextmanager
def load_meanwhile(*modules: str) -> Iterator[None]:
    """Load modules, one after the other, beside what is done inside; loaded or not, it is over at the end."""
    thread = Thread(target=_load, args=modules, daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _load(*modules: str) -> None:
    for module in modules:
        with suppress(Exception):  # whoever needs it will be told why it cannot be had
            import_module(module)
