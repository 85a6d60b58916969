"""Headers are one line, the same to the letter in every file, wherever the files are and however they are packed."""

import bz2
import gzip
import zlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import fsspec
import pytest

from vdr_spark.errors import InvalidInput
from vdr_spark.pings.csv_headers import MAX_LINE_BYTES, check_headers, find_first_line

HEADER = b"user_id,lat,lon,ts"
SECRET = "s3cret-person"
BOM = b"\xef\xbb\xbf"
UNCHANGED: Callable[[bytes], bytes] = bytes


def written(folder: Path, files: dict[str, bytes]) -> list[str]:
    """Spark's URIs of files with these contents."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return [(folder / name).as_uri() for name in files]


def refusal(files: list[str]) -> str:
    with pytest.raises(InvalidInput) as caught:
        check_headers(files, "the folder")
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


@pytest.mark.parametrize(
    ("head", "line"),
    [
        (HEADER + b"\nu,1,2,3\n", HEADER),
        (HEADER + b"\r\nu", HEADER),
        (HEADER + b"\ru", HEADER),
        (HEADER, HEADER),
        (BOM + HEADER + b"\n", HEADER),
        (BOM + b"\n \t\r\n\0\n" + HEADER + b"\n", HEADER),
        (b"\n\t" + HEADER + b" \n", b"\t" + HEADER + b" "),
        (b"", b""),
        (BOM, b""),
        (b" \r\n\n ", b""),
        (b"x" * MAX_LINE_BYTES, b"x" * MAX_LINE_BYTES),
        (b"x" * (MAX_LINE_BYTES + 1), None),
        (b"\n" * (MAX_LINE_BYTES + 1), None),
        (HEADER + b"\n" + b"x" * MAX_LINE_BYTES, HEADER),
    ],
)
def test_the_first_line_is_the_first_that_is_not_blank(head: bytes, line: bytes | None) -> None:
    assert find_first_line(head) == line


def test_the_same_header_may_be_packed_in_any_way(tmp_path: Path) -> None:
    content = HEADER + b"\nu,1,2,3\n"
    files = {
        "plain.csv": content,
        "a name, 100% #ü [1].csv": content,
        "marked.csv": BOM + content,
        "lines.csv": b"\r\n" + content.replace(b"\n", b"\r\n"),
        "empty.csv": b"",
        "blank.csv": b" \n",
        "one.csv.gz": gzip.compress(content),
        "two.csv.bz2": bz2.compress(BOM + content),
        "empty.csv.gz": b"",
        "loud.csv.GZ": content,  # which Hadoop does not unpack
    }
    check_headers(written(tmp_path, files), "the folder")
    check_headers([], "the folder")


@pytest.mark.parametrize(
    "other",
    [
        b"user_id,lon,lat,ts",
        b"user_id,lat,lon,TS",
        b"user_id,lat,lon,ts ",
        b"user_id,lat,lon,ts,more",
        b'"user_id",lat,lon,ts',
        f"{SECRET},29.7604,-95.3698,2020-01-07".encode(),
        b"x" * (MAX_LINE_BYTES + 1),
    ],
)
@pytest.mark.parametrize(("suffix", "pack"), [("", UNCHANGED), (".gz", gzip.compress), (".bz2", bz2.compress)])
def test_another_first_line_is_refused_and_neither_line_nor_file_is_told(
    tmp_path: Path, other: bytes, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    files = {"a.csv": HEADER, f"anna.csv{suffix}": pack(other + b"\nu,1,2,3\n"), "z.csv": HEADER}
    said = refusal(written(tmp_path, files))
    assert said.startswith("input.header: all CSV files at the folder must begin with the same line")
    assert "input.header: false" in said
    for part in (SECRET, "29.7", "anna", "lat,", str(tmp_path)):
        assert part not in said


@pytest.mark.parametrize(
    "content",
    [b"no gzip at all", gzip.compress(HEADER)[:12], gzip.compress(HEADER)[:10] + b"\7"],
    ids=["none", "cut off", "damaged"],
)
def test_a_damaged_file_is_refused_and_not_named(tmp_path: Path, content: bytes) -> None:
    said = refusal(written(tmp_path, {"a.csv": HEADER, "anna.csv.gz": content}))
    assert "cannot be read on the driver" in said
    assert "anna" not in said


def test_what_only_spark_can_unpack_is_refused(tmp_path: Path) -> None:
    said = refusal(written(tmp_path, {"a.csv": HEADER, "anna.csv.deflate": zlib.compress(HEADER)}))
    assert "pack them so" in said
    assert "anna" not in said


def test_a_store_that_nobody_installed_is_a_sentence() -> None:
    assert "install fsspec's package" in refusal(["nowhere://bucket/a.csv"])


def test_files_in_an_object_store() -> None:
    store = fsspec.filesystem("memory")
    for name in ("one 100%.csv", "two.csv"):
        store.pipe(f"/headers/{name}", HEADER + b"\nu,1,2,3\n")
    files = [f"memory://headers/{quote(name)}" for name in ("one 100%.csv", "two.csv")]
    check_headers(files, "the bucket")
    store.pipe("/headers/two.csv", HEADER[::-1] + b"\n")
    assert "must begin with the same line" in refusal(files)
