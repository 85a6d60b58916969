"""The page that is committed, and goes into the wheel, is the one of the sources beside it. No node is needed."""

import hashlib
import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
STATIC, SOURCES = ROOT / "vdr_spark/explore/static", ROOT / "explorer/src"


def hashes(folder: Path, *names: str) -> dict[str, str]:
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in sorted(names)}


def test_the_bundle_was_built_from_these_sources() -> None:
    built = json.loads((STATIC / "built.json").read_text())
    assert built["sources"] == hashes(SOURCES, *(file.name for file in SOURCES.iterdir())), "run `make explorer`"


def test_the_bundle_was_not_changed_by_hand() -> None:
    built = json.loads((STATIC / "built.json").read_text())
    names = {file.name for file in STATIC.iterdir()} - {"built.json"}
    assert built["files"] == hashes(STATIC, *names), "run `make explorer`"


def test_nothing_comes_from_the_network_or_stands_inline() -> None:
    page = (STATIC / "index.html").read_text()
    for content in (page, (STATIC / "explorer.js").read_text(), (STATIC / "explorer.css").read_text()):
        addresses = re.findall(r"https?://[^\s\"'`)]+", content)
        assert set(addresses) <= {"http://www.w3.org/2000/svg"}  # a name, not a place
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", page)


def test_no_registry_is_named() -> None:
    assert "http" not in (ROOT / "explorer/package-lock.json").read_text()


def test_the_page_goes_into_the_wheel() -> None:
    assert '"explore/static/*"' in (ROOT / "pyproject.toml").read_text()
