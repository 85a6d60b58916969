"""A wrong configuration is refused with parameter, rule and value, and never half read."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.plans import draw_id_of, output_of
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.errors import InvalidConfig

Small = Callable[..., ReleaseConfig]


@pytest.mark.parametrize(
    ("override", "parameter", "rule"),
    [
        ("grid.cels=4", "grid.cels", "not a known setting"),
        ("grid.cells_per_side=1", "grid.cells_per_side", "at least 2"),
        ("grid.cells_per_side=many", "grid.cells_per_side", "whole number"),
        ("privacy.epsilon=0", "privacy.epsilon", "positive number"),
        ("privacy.epsilon=-1", "privacy.epsilon", "positive number"),
        ("privacy.epsilon=.nan", "privacy.epsilon", "positive number"),
        ("privacy.epsilon=.inf", "privacy.epsilon", "positive number"),
        ("privacy.epsilon=1/0", "privacy.epsilon", "positive number"),
        ("privacy.epsilon=true", "privacy.epsilon", "positive number"),
        ("privacy.epsilon=null", "privacy", "either as `epsilon`, pure"),
        ("privacy.k=0", "privacy.k", "at least 1"),
        ("privacy.k=2.5", "privacy.k", "whole number"),
        ("privacy.lambda=0.1", "privacy", "either `k` or `lambda`"),
        ("privacy.budget=1", "privacy", "must be at least what this release costs of it (epsilon 6)"),
        ("privacy.total_pings=-3", "privacy.total_pings", "at least 1"),
        ("period.slice=5h", "period", "whole number of slices"),
        ("period.slice=2w", "period", "`slice` (1209600 s) must not be longer than the period (86400 s)"),
        ("period.slice=soon", "period.slice", "length of time"),
        ("period.end=2019-01-01", "period", "`end` must come after `start`"),
        ("period.timezone=Mars/Olympus", "period.timezone", "IANA time zone"),
        ("region.south=1", "region", "either `center` and `side_m`"),
        ("region.center=[95, 0]", "region", "-90 <= south < north <= 90"),
        ("region.side_m=-5", "region.side_m", "greater than 0"),
        ("denoise.model=magic", "denoise.model", "'temporal'"),
        ("denoise={model: identity, fusion: true}", "denoise", "needs a model"),
        ("name=Robert'); DROP TABLE cells", "name", "small letters"),
        ("privacy.epsilon=1e999999999", "privacy.epsilon", "18 digits"),
        ("privacy.k=1e999999999", "privacy.k", "whole number"),
        ("privacy.k=1e18", "privacy", "at most 2**50"),
        ("period.start=20200107", "period.start", "date or time"),
        ("period.end=9999-12-31T23:00", "period.end", "1900 to 2200"),
        ("input.layout=shapefile", "input.layout", "'veraset'"),
    ],
)
def test_refused_with_parameter_rule_and_value(small_config: Small, override: str, parameter: str, rule: str) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        small_config(override)
    lines = str(refusal.value).splitlines()
    assert any(line.strip().startswith(parameter + ":") and rule in line for line in lines), lines


@pytest.mark.parametrize(
    ("pings", "output"),
    [
        ("somewhere", "somewhere/below"),
        ("{0}/pings", "{0}/else/../pings/out"),
        ("file://{0}/pings", "{0}/pings/out"),
        ("{0}/pings", "file:{0}/link/out"),
    ],
)
def test_output_must_not_lie_among_the_pings(small_config: Small, tmp_path: Path, pings: str, output: str) -> None:
    (tmp_path / "pings").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "pings")
    with pytest.raises(InvalidConfig, match=r"must not lie in `input\.path`"):
        small_config(f"output={output.format(tmp_path)}", f"input.path={pings.format(tmp_path)}")


def test_a_local_uri_is_the_path_it_names(small_config: Small) -> None:
    """Or it would be locked as little as an object store is, and be another draw."""
    plain = small_config("output=/data/out", "input.path=/data/pings")
    uri = small_config("output=file:///data/out", "input.path=file:/data/pings")
    assert draw_id_of(plain) == draw_id_of(uri)
    assert output_of(uri) == output_of(plain)
    assert output_of(small_config("output=s3a://bucket/out")).root == "s3a://bucket/out"


def test_a_folder_may_hold_what_yaml_takes_for_a_comment(small_config: Small) -> None:
    assert small_config("output=/tmp/a b #1").output == "/tmp/a b #1"


def test_a_seed_is_refused_where_pings_are_not_generated(small_config: Small) -> None:
    with pytest.raises(InvalidConfig, match="test_seed"):
        small_config("privacy.test_seed=1", "synth=null")


def test_the_value_received_is_named(small_config: Small) -> None:
    with pytest.raises(InvalidConfig, match=r"grid.cells_per_side: .*received -3"):
        small_config("grid.cells_per_side=-3")


def test_overrides_reach_every_depth(small_config: Small) -> None:
    config = small_config("grid.cells_per_side=288", "denoise.vqvae.epochs=7", "refine.method=gamma", "synth.pings=5e3")
    assert (config.grid.cells_per_side, config.denoise.vqvae.epochs, config.refine.method) == (288, 7, "gamma")
    assert config.synth is not None
    assert config.synth.pings == 5000


@pytest.mark.parametrize("override", ["grid.cells_per_side", "=3", "name.x=3"])
def test_malformed_overrides(small_config: Small, override: str) -> None:
    with pytest.raises(InvalidConfig, match="--set"):
        small_config(override)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "key: value"),
        ("- a\n- b", "key: value"),
        ("a: [1", "not valid YAML"),
        ("a: &x [1]\nb: *x", "aliases"),
        ("name: a\nname: b", "stands twice"),
        ("!!python/object/apply:os.system ['true']", "tags"),
        ("x" * (1 << 21), "larger than 64 KiB"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(InvalidConfig, match=words):
        load_config(path)


def test_a_missing_file_points_at_the_examples(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="examples are in conf/"):
        load_config(tmp_path / "none.yaml")


def test_missing_sections_are_named(tmp_path: Path) -> None:
    path = tmp_path / "short.yaml"
    path.write_text("name: short")
    with pytest.raises(InvalidConfig) as refusal:
        load_config(path)
    for section in ("dataset", "input", "period", "privacy"):
        assert f"{section}: is missing" in str(refusal.value)
