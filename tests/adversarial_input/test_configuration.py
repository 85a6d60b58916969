"""Configurations that mean harm: each is refused in a sentence, at once, or is harmless."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT
from vdr_spark.cli import main
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.errors import InvalidConfig

Small = Callable[..., ReleaseConfig]
DEMO = (ROOT / "conf/demo.yaml").read_text()
LAUGHS = "a: &a [x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
INJECTION = "x'; DROP TABLE cells; --"


def refusal_of(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    began = time.monotonic()
    with pytest.raises(InvalidConfig) as refusal:
        load_config(path)
    assert time.monotonic() - began < 10
    assert len(str(refusal.value)) < 10_000
    return str(refusal.value)


def changed(line: str, other: str) -> str:
    assert line in DEMO
    return DEMO.replace(line, other)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(LAUGHS, "anchors and aliases", id="a billion laughs"),
        pytest.param("a: &a [*a]", "anchors and aliases", id="a list that holds itself"),
        pytest.param(changed("name: demo", "name: &n demo"), "anchors and aliases", id="an anchor alone"),
        pytest.param("a: " + "[" * 60_000, "20 levels deep", id="brackets that never close"),
        pytest.param("a: " + "[" * 100_000, "64 KiB", id="a hundred thousand brackets"),
        pytest.param("a: " + "{a: " * 15_000, "20 levels deep", id="braces"),
        pytest.param("- " * 30_000, "20 levels deep", id="dashes"),
        pytest.param("".join(" " * n + "a:\n" for n in range(300)), "20 levels deep", id="indentation"),
        pytest.param(changed("k: 160", "k: " + "9" * 60_000), "1024 characters", id="digits"),
        pytest.param(changed("k: 160", "k: " + "9" * 1000), "at most 18 digits", id="a thousand digits"),
        pytest.param(changed("k: 160", "k: 0x" + "f" * 1000), "at most 18 digits", id="hexadecimal digits"),
        pytest.param(changed("k: 160", "k: 1" + ":59" * 300), "at most 18 digits", id="digits to the base of sixty"),
        pytest.param(changed("epsilon: 6", "epsilon: 1" + ":59" * 300), "18 digits", id="epsilon to the base of sixty"),
        pytest.param(changed("slice: 3h", "slice: " + "9" * 1000), "length of time", id="a slice of aeons"),
        pytest.param(changed("slice: 3h", "slice: 1s").replace("end: 2020", "end: 2199"), "slices", id="many slices"),
        pytest.param(DEMO + "x: !!python/object/apply:os.system ['true']", "tags", id="a tag that runs a program"),
        pytest.param(changed("name: demo", "name: !!python/name:os.system"), "tags", id="a tag that names a function"),
        pytest.param(changed("name: demo", "name: !!binary aGVsbG8="), "tags", id="a tag of bytes"),
        pytest.param(changed("name: demo", "name: !!timestamp x"), "tags", id="a tag that lies"),
        pytest.param(
            changed("cells_per_side: 192", "<<: {cells_per_side: 8}\n  cells_per_side: 192"),
            "`<<` is no word",
            id="a merge key",
        ),
        pytest.param(DEMO + "name: other", "`name` stands twice", id="a key twice"),
        pytest.param(DEMO + "'name': other", "`name` stands twice", id="a key twice, once in quotes"),
        pytest.param(DEMO + "x: \0", "not valid YAML", id="a NUL"),
        pytest.param(changed("output: out/demo", 'output: "a\\0b"'), "output:", id="a NUL in a path"),
        pytest.param(changed("output: out/demo", 'output: "a\\nb"'), "output:", id="a line break in a path"),
        pytest.param(changed("output: out/demo", "output: a`; DROP"), "output:", id="a backtick in a path"),
        pytest.param("# " + "x" * (2 << 20), "64 KiB", id="two megabytes"),
        pytest.param("x: [" + "1, " * 5_000 + "]", "not a known setting", id="a long list"),
        pytest.param("".join(f"k{n}: 1\n" for n in range(6000)), "more", id="six thousand keys"),
        pytest.param("1: 2", "`1` is no word", id="a number as a key"),
        pytest.param("~: 2", "`~` is no word", id="nothing as a key"),
        pytest.param(changed("cells_per_side: 192", "no: 192"), "`no` is no word", id="a truth value as a key"),
        pytest.param("2020-01-01: 2", "`2020-01-01` is no word", id="a date as a key"),
        pytest.param("? [a, b]\n: 1", "several values is no word", id="a list as a key"),
        pytest.param(changed("2020-01-07", "2020-13-45"), "`2020-13-45` is no date", id="a date that is none"),
        pytest.param(changed("2020-01-07", "2020-01-07T00:00:00+99:99"), "is no date", id="a zone that is none"),
        pytest.param(changed("America/Chicago", "../../../etc/passwd"), "IANA time zone", id="a zone that is a path"),
        pytest.param('"\\e[2J": 1', "?[2J: is not a known setting", id="a key that clears the screen"),
        pytest.param('"\\ud800": 1', "whole characters", id="half a character"),
        pytest.param(DEMO + "---\nname: other", "not valid YAML", id="two documents"),
    ],
)
def test_hostile_yaml_is_refused_in_a_sentence_at_once(tmp_path: Path, text: str, words: str) -> None:
    assert words in refusal_of(tmp_path / "hostile.yaml", text.encode())


@pytest.mark.parametrize("content", [b"name: \xff\xfe", DEMO.encode("utf-16"), b"\x80\x04\x95."], ids=repr)
def test_bytes_that_are_no_text(tmp_path: Path, content: bytes) -> None:
    assert "cannot be read" in refusal_of(tmp_path / "hostile.yaml", content)


@pytest.mark.parametrize("path", ["/dev/zero", "a\0b", "/"])
def test_files_that_are_no_files(path: str) -> None:
    with pytest.raises(InvalidConfig):
        load_config(path)


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    path = tmp_path / "windows.yaml"
    path.write_text("\ufeff" + DEMO.removeprefix("# "), encoding="utf-8")
    with pytest.raises(InvalidConfig):  # the first line is no comment any more, and no setting
        load_config(path)
    path.write_text("\ufeff" + DEMO, encoding="utf-8")
    assert load_config(path) == load_config(ROOT / "conf/demo.yaml")


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("grid=&a [*a]", "anchors and aliases"),
        ("grid.cells_per_side=" + "[" * 60_000, "20 levels deep"),
        ("privacy.k=" + "9" * 100_000, "1024 characters"),
        ("privacy.k=" + "9" * 1000, "at most 18 digits"),
        ("grid.cells_per_side=!!python/object/apply:os.system ['true']", "tags"),
        ("grid={<<: {cells_per_side: 4}}", "no word"),
        ("grid={cells_per_side: 4, cells_per_side: 5}", "stands twice"),
        ("grid={1: 2}", "no word"),
        ("grid={2020-01-01: 2}", "no word"),
        ("grid={[a]: 2}", "no word"),
        ("period.start=2020-13-45", "no date"),
        ("grid.cells_per_side=\0", "whole number"),
        ("<<={name: x}", "not a known setting"),
        ("a" + ".a" * 20_000 + "=1", "not a known setting"),
        ("." * 20_000 + "=1", "not a known setting"),
    ],
    ids=lambda text: text[:30],
)
def test_overrides_are_no_way_around(small_config: Small, override: str, words: str) -> None:
    began = time.monotonic()
    with pytest.raises(InvalidConfig) as refusal:
        small_config(override)
    assert time.monotonic() - began < 10
    assert words in str(refusal.value)
    assert len(str(refusal.value)) < 10_000


@pytest.mark.parametrize(
    "name",
    [
        *(INJECTION, "`cells`", "${jndi:ldap://example.invalid/x}", "../..", "[bold]demo[/bold]", "a b", "a=b", "a/b"),
        *("demo\n", "demo\0", "dеmo", "", "-demo", "_demo", "x" * 64, "Demo"),  # the third has a Cyrillic letter
    ],
    ids=repr,
)
@pytest.mark.parametrize("setting", ["name", "dataset", "focus", "regions"])
def test_names_are_plain_words(small_config: Small, setting: str, name: str) -> None:
    """They become folders, table values, SQL literals and transaction names, none of which then needs quoting."""
    tree = small_config().model_dump(mode="json", exclude={"synth", "focus"}, exclude_none=True, by_alias=True)
    tree |= {setting: {name: tree.pop("region")}} if setting == "regions" else {setting: name}
    with pytest.raises(ValueError, match=setting):
        ReleaseConfig.model_validate(tree)


def test_no_markup_of_ours_is_written_by_others(capsys: pytest.CaptureFixture[str]) -> None:
    for key in ("[/bold]", "\\e[2J"):
        with pytest.raises(SystemExit):
            main(["explain", str(ROOT / "conf/demo.yaml"), "--set", f'grid={{"{key}": 1}}'])
    printed = capsys.readouterr().err
    assert "grid.[/bold]: is not a known setting" in printed
    assert "\x1b[2J" not in printed
