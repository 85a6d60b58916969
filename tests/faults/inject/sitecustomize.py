"""Python runs this file at its start wherever its folder is on PYTHONPATH: at some calls, it kills the process group.

The calls are named by the environment (`tests.faults.points.AtCall`), which the JVM and Spark's Python workers inherit,
so a point may lie in any of them. Calls are counted over all processes together. The product has no part in this.
"""

import functools
import importlib.util
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

FAULTS, MARKS, GROUP = "VDR_FAULTS", "VDR_FAULT_MARKS", "VDR_FAULT_GROUP"


def arm(name: str, when: str, function: str, call: int, about: str, then: str) -> None:
    """Wrap the function as soon as its module is imported: who imports it by name then gets the wrapped one."""
    module, _, path = function.partition(":")
    *owners, attribute = path.split(".")

    def wrap_in(loaded: ModuleType) -> None:
        owner = functools.reduce(getattr, owners, loaded)
        setattr(owner, attribute, faulty(getattr(owner, attribute)))

    def faulty(plain: Callable) -> Callable:
        @functools.wraps(plain)
        def wrapped(*args: object, **kwargs: object) -> object:
            meant = not about or any(about in _tell(arg) for arg in args)
            due = meant and _count(name) == call
            if due and when == "before":
                _strike(name, then)
            result = plain(*args, **kwargs)
            if due and when == "after":
                _strike(name, then)
            return result

        return wrapped

    if module in sys.modules:
        wrap_in(sys.modules[module])
    else:
        sys.meta_path.insert(0, _OnImport(module, wrap_in))


def _tell(argument: object) -> str:
    """What an argument is about: its text, or the place that an object stands for."""
    return argument if isinstance(argument, str) else str(getattr(argument, "place", ""))


class _OnImport:
    def __init__(self, module: str, action: Callable[[ModuleType], None]):
        self._module, self._action = module, action
        self._is_looking = False

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:  # noqa: ARG002
        if name != self._module or self._is_looking:
            return None
        self._is_looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_looking = False
        assert spec is not None
        assert spec.loader is not None
        execute = spec.loader.exec_module

        def execute_and_act(module: ModuleType) -> None:
            execute(module)
            if self in sys.meta_path:  # until it is imported: others may only look for it, as the preflight does
                sys.meta_path.remove(self)
            self._action(module)

        spec.loader.exec_module = execute_and_act  # type: ignore[method-assign]
        return spec


def _count(name: str) -> int:
    """The number of this call among those of all processes: an append is atomic, and its end is the number."""
    with Path(os.environ[MARKS], f"{name}.calls").open("ab", buffering=0) as calls:
        calls.write(b".")
        return calls.tell()


def _strike(name: str, then: str) -> None:
    Path(os.environ[MARKS], name).write_text(str(os.getpid()))
    if then == "kill":
        os.killpg(int(os.environ[GROUP]), signal.SIGKILL)
        os.killpg(os.getpgid(0), signal.SIGKILL)  # Spark's Python workers have a group of their own
    if then == "fail":
        raise RuntimeError(f"a fault was injected: {name}")
    time.sleep(600)


if FAULTS in os.environ:
    os.environ.setdefault(GROUP, str(os.getpgid(0)))
    for fault in json.loads(os.environ[FAULTS]):
        arm(**fault)
    # Few pings would have one task. What is tested must hold for several.
    sys.meta_path.insert(
        0, _OnImport("vdr_spark.collect.stage", lambda loaded: setattr(loaded, "tasks_for", lambda *asked: asked[-1]))
    )
