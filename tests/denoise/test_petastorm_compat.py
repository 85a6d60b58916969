"""A copy of Petastorm of our own: what it gets, and that nobody else gets any of it.

With this environment's pyarrow, NumPy and Python; `make matrix` has the others.
"""

import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.matrix import read_by_petastorm
from vdr_spark.denoise import petastorm_compat
from vdr_spark.denoise.petastorm_compat import load_petastorm
from vdr_spark.errors import EnvironmentProblem


@pytest.fixture
def loaded_anew() -> Iterator[None]:
    load_petastorm.cache_clear()
    yield
    load_petastorm.cache_clear()


def test_a_fresh_process_reads_right_and_leaks_nothing() -> None:
    """What `make matrix` runs in other environments."""
    command = [sys.executable, "-m", read_by_petastorm.__name__]
    said = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert said.returncode == 0, said.stderr
    assert metadata.version("pyarrow") in said.stdout


@pytest.mark.usefixtures("loaded_anew")
def test_other_users_of_the_libraries_see_nothing_of_it() -> None:
    before = read_by_petastorm.others_see()
    assert load_petastorm()["petastorm.fs_utils"].pyarrow is not pa
    assert read_by_petastorm.others_see() == before


@pytest.mark.usefixtures("loaded_anew")
def test_modules_and_names_that_are_gone_are_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a newer pyarrow, NumPy and Python, whatever is installed: the old names fail for all but our copy."""
    for module in ("pyarrow.filesystem", "pyarrow.hdfs", "distutils", "distutils.version"):
        monkeypatch.setitem(sys.modules, module, None)  # an import of it fails
    # pyarrow 14 has its old file systems by a `__getattr__`.
    for library, name in ((pa, "__getattr__"), (pa.lib, "ArrowIOError"), (np, "unicode_"), (np, "string_")):
        monkeypatch.delattr(library, name, raising=False)
    monkeypatch.delattr(pq, "ParquetDataset")
    monkeypatch.delattr(pq, "ParquetDatasetPiece", raising=False)
    monkeypatch.delattr(pq.core, "ParquetDatasetPiece", raising=False)
    read_by_petastorm.check_reading()


@pytest.mark.usefixtures("loaded_anew")
def test_a_petastorm_that_others_have_imported_stays_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = type(sys)("petastorm")
    monkeypatch.setitem(sys.modules, "petastorm", theirs)
    assert load_petastorm()["petastorm"] is not theirs
    assert sys.modules["petastorm"] is theirs


def test_a_row_group_comes_in_one_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Petastorm looks at the first column's chunks only, and then takes the first chunk of every column."""
    whole = pa.table({"slice": pa.chunked_array([[0, 1, 2]]), "counts": pa.chunked_array([[[5]], [[6], [7]]])})
    pq.write_table(whole, tmp_path / "x.parquet")
    monkeypatch.setattr(pq.ParquetFile, "read_row_group", lambda *_, columns: whole.select(columns))
    piece = load_petastorm()["petastorm.reader"].pq.ParquetDatasetPiece(str(tmp_path / "x.parquet"), row_group=0)
    table = piece.read({"slice", "counts"})
    assert [table.column(name).num_chunks for name in table.column_names] == [1, 1]
    assert table.sort_by("slice").select(whole.column_names).equals(whole)


@pytest.mark.usefixtures("loaded_anew")
@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (None, r"petastorm 0\.12\.1, but petastorm is not installed.*pip install --no-deps petastorm==0\.12\.1"),
        ("0.13.0", r"petastorm 0\.12\.1, but petastorm is there as 0\.13\.0"),
    ],
)
def test_no_petastorm_or_another_one_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, found: str | None, sentence: str
) -> None:
    def version(name: str) -> str:
        if found is None:
            raise metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(petastorm_compat.metadata, "version", version)
    with pytest.raises(EnvironmentProblem, match=sentence):
        load_petastorm()


@pytest.mark.usefixtures("loaded_anew")
def test_what_petastorm_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dill", None)
    with pytest.raises(EnvironmentProblem, match="but dill is not installed"):
        load_petastorm()
