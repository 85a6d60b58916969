"""Petastorm 0.12.1 under any pyarrow from 14 on, NumPy 1 or 2, with or without `distutils`.

Petastorm asks for names that these have dropped since: pyarrow's old file systems, its old `ParquetDataset` and
the pieces of it, `np.unicode_`, `distutils`. Here it gets stand-ins for them, and nobody else does: a copy of Petastorm
is loaded for this module alone, whose own `import` statements find the stand-ins. pyarrow, NumPy and `sys.modules` stay
as they are, and so does the Petastorm that others in the process import, or fail to.

The stand-ins know what `make_batch_reader` asks for over local files without partitions, and no more.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import metadata
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet as pq

from vdr_spark.errors import EnvironmentProblem

VERSION = "0.12.1"  # 0.13 loses rows, and what the stand-ins must know was read off this one


def make_batch_reader(urls: Sequence[str], columns: Sequence[str], **options: Any) -> Any:
    """Return Petastorm's reader of Parquet files, named by `file://` URLs."""
    return load_petastorm()["petastorm"].make_batch_reader(urls, columns, **options)


@cache
def load_petastorm() -> Mapping[str, ModuleType]:
    """Load our copy of Petastorm, once in a process, and return its modules by name."""
    try:
        found = metadata.version("petastorm")
    except metadata.PackageNotFoundError:
        raise _missing("petastorm", "is not installed") from None
    if found != VERSION:
        raise _missing("petastorm", f"is there as {found}")
    importer = _Importer(_stand_ins())
    try:
        importer.load("petastorm")
    except ModuleNotFoundError as problem:
        raise _missing(str(problem.name), "is not installed") from problem
    return importer.modules


def _missing(package: str, found: str) -> EnvironmentProblem:
    # Petastorm declares pyspark, which reading does not use: pip would put a second Spark over a runtime's own.
    return EnvironmentProblem(
        f"denoising reads the noisy slices by petastorm {VERSION}, but {package} {found}; on a cluster or runtime run: "
        f"pip install --no-deps petastorm=={VERSION}; on a machine of your own: pip install vdr-spark[local]"
    )


class _Importer:
    """What the import statements of our copy call: `petastorm.*` is loaded here, stand-ins are handed out."""

    def __init__(self, stand_ins: Mapping[str, ModuleType]) -> None:
        self.modules: dict[str, ModuleType] = {}
        self._stand_ins = stand_ins

    def __call__(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """Do what `builtins.__import__` does: return the module if names are taken from it, else its top package."""
        wanted = name if fromlist else name.partition(".")[0]
        if level == 0 and name.partition(".")[0] == "petastorm":
            module = self.load(name)
            for child in fromlist or ():
                if not hasattr(module, child):
                    self.load(f"{name}.{child}")
            return self.modules[wanted]
        if level == 0 and wanted in self._stand_ins:
            return self._stand_ins[wanted]
        return builtins.__import__(name, globals, locals, fromlist or (), level)

    def load(self, name: str) -> ModuleType:
        """Load a module of Petastorm, after the packages that it lies in."""
        if name in self.modules:
            return self.modules[name]
        parent, _, child = name.rpartition(".")
        spec = PathFinder.find_spec(name, self.load(parent).__path__ if parent else None)
        if spec is None or spec.loader is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        module = module_from_spec(spec)
        # Import statements, also those inside functions, look `__import__` up in the builtins of their module.
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": self}
        self.modules[name] = module
        spec.loader.exec_module(module)
        if parent:
            setattr(self.modules[parent], child, module)
        return module


def _stand_ins() -> dict[str, ModuleType]:
    """Return the modules that Petastorm gets in place of the real ones."""
    parquet = _like(pq, ParquetDataset=_Dataset, ParquetDatasetPiece=_Piece)
    return {
        "numpy": _like(np, unicode_=np.str_, string_=np.bytes_),
        "pyarrow": _like(pyarrow, parquet=parquet, localfs=_LocalFiles()),
        "pyarrow.parquet": parquet,
        "pyarrow.lib": _like(pyarrow.lib, ArrowIOError=OSError),
        # Asked for when Petastorm is imported, used for HDFS alone: names without anything behind them.
        "pyarrow.filesystem": _like(None, LocalFileSystem=_LocalFiles),
        "pyarrow.hdfs": _like(None, HadoopFileSystem=type("HadoopFileSystem", (), {})),
        "distutils.version": _like(None, LooseVersion=str),
    }


def _like(real: ModuleType | None, **names: object) -> ModuleType:
    """Return a module that has these names, and for all others looks into the real one."""
    module = ModuleType(real.__name__ if real else "stand_in")
    vars(module).update(names)
    if real is not None:
        vars(module)["__getattr__"] = lambda name: getattr(real, name)
    return module


class _LocalFiles:
    """pyarrow's old local file system, as far as it is used."""

    def open(self, path: str) -> pyarrow.NativeFile:
        return pyarrow.OSFile(path)


class _Dataset:
    """pyarrow's old `ParquetDataset`: plain files, no partitions, no summary files."""

    partitions = metadata = common_metadata = None

    def __init__(self, path_or_paths: str | list[str], filesystem: _LocalFiles, **_: object) -> None:
        self.paths, self.fs = path_or_paths, filesystem
        paths = [path_or_paths] if isinstance(path_or_paths, str) else path_or_paths
        self.pieces = [_Piece(path) for path in paths]


class _Piece:
    """pyarrow's old `ParquetDatasetPiece`: a file, or one row group of it."""

    def __init__(self, path: str, row_group: int | None = None, partition_keys: object = (), **_: object) -> None:
        self.path, self.row_group, self.partition_keys = path, row_group, partition_keys

    def get_metadata(self) -> pq.FileMetaData:
        return pq.read_metadata(self.path)

    def read(self, columns: Collection[str], **_: object) -> pyarrow.Table:
        """Read one row group. In one chunk: Petastorm may take the first chunk of a column for all of it."""
        with pq.ParquetFile(self.path) as file:
            return file.read_row_group(self.row_group, columns=sorted(columns)).combine_chunks()
