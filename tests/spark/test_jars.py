"""Delta's jars: by setting, fetched by one process at a time, known again as long as all are as they were."""

from pathlib import Path

import pytest

from vdr_spark.config.settings import SparkSettings
from vdr_spark.errors import Busy, EnvironmentProblem
from vdr_spark.spark import jars as jars_module
from vdr_spark.spark.jars import find_lacking, jar_conf, one_fetches_jars, recall_jars, remember_jars
from vdr_spark.spark_versions import delta_package
from vdr_spark.storage.locks import exclusive

CLASS_PATH = "spark.driver.extraClassPath"


def settings_in(ivy: Path, **more: str) -> SparkSettings:
    return SparkSettings(conf={"spark.jars.ivy": str(ivy)} | more)


def jars_in(ivy: Path) -> list[Path]:
    (ivy / "jars").mkdir(parents=True)
    jars = [ivy / "jars/a b.jar", ivy / "jars/c.jar"]
    for jar in jars:
        jar.write_bytes(b"whole")
    return jars


def test_missing_jar_file() -> None:
    with pytest.raises(EnvironmentProblem, match=r"no file nowhere\.jar"):
        jar_conf(SparkSettings(delta_jars=["nowhere.jar"]))


def test_one_process_at_a_time_fetches_jars(tmp_path: Path) -> None:
    """Two that start together on a fresh machine would tear each other's downloads apart."""
    settings = settings_in(tmp_path / "ivy")
    lock, conf = str(tmp_path / "ivy/vdr-spark.lock"), jar_conf(settings) | settings.conf
    with one_fetches_jars(conf), pytest.raises(Busy), exclusive(lock, busy="held"):
        pass
    with exclusive(lock, busy="free again"):
        pass
    with one_fetches_jars(settings.conf), exclusive(lock, "free"):  # no jars to fetch
        pass


def test_delta_jars_by_setting(tmp_path: Path) -> None:
    jar = tmp_path / "delta.jar"
    jar.touch()
    assert jar_conf(SparkSettings(delta_jars="provided")) == {}
    assert jar_conf(SparkSettings(delta_jars=[str(jar)])) == {"spark.jars": str(jar)}
    assert jar_conf(settings_in(tmp_path)) == {"spark.jars.packages": delta_package()}


def test_what_was_there_is_known_again(tmp_path: Path) -> None:
    jars, settings = jars_in(tmp_path), settings_in(tmp_path)
    remember_jars(settings, [jar.as_uri() for jar in jars])
    assert jar_conf(settings) == {CLASS_PATH: ":".join(str(jar) for jar in jars)}
    with_executors = settings_in(tmp_path, **{"spark.master": "local-cluster[2,1,1024]"})
    assert jar_conf(with_executors) == {"spark.jars": ",".join(str(jar) for jar in jars)}  # they are sent along
    own_path = settings_in(tmp_path, **{CLASS_PATH: "/of/a/person.jar"})
    assert jar_conf(own_path) == {"spark.jars.packages": delta_package()}
    assert recall_jars(settings, "io.delta:delta-spark_2.13:9.9.9") is None
    more = settings_in(tmp_path, **{"spark.jars.repositories": "https://elsewhere"})
    assert jar_conf(more) == {"spark.jars.packages": delta_package()}  # Ivy may find others there


def test_what_spark_has_itself_is_not_put_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        jars_module, "list_own_jars", lambda: [Path("antlr4-runtime-4.13.1.jar"), Path("delta-kernel-1.jar")]
    )
    (tmp_path / "jars").mkdir()
    jars = [tmp_path / "jars" / f"org.x_{name}.jar" for name in ("antlr4-runtime-4.9.3", "delta-spark_4.2_2.13-4.4.0")]
    for jar in jars:
        jar.write_bytes(b"whole")
    remember_jars(settings_in(tmp_path), [jar.as_uri() for jar in jars])
    assert find_lacking(settings_in(tmp_path)) == [str(jars[1])]


def test_in_doubt_ivy_is_asked(tmp_path: Path) -> None:
    jars, settings, by_ivy = jars_in(tmp_path), settings_in(tmp_path), {"spark.jars.packages": delta_package()}
    remember_jars(settings, [jar.as_uri() for jar in jars])
    jars[0].write_bytes(b"cut")
    assert jar_conf(settings) == by_ivy
    jars[0].unlink()
    assert jar_conf(settings) == by_ivy
    (memory,) = tmp_path.glob("vdr-spark.*.json")
    for content in ("", "[]", '{"jars": 3}', '{"jars": {}}'):
        memory.write_text(content)
        assert jar_conf(settings) == by_ivy


def test_jars_from_elsewhere_are_not_kept(tmp_path: Path) -> None:
    jars, other, settings = jars_in(tmp_path / "ivy"), tmp_path / "other.jar", settings_in(tmp_path / "ivy")
    other.write_bytes(b"another")
    for given in ([jars[0].as_uri(), other.as_uri()], [""]):
        remember_jars(settings, given)
        assert not [*(tmp_path / "ivy").glob("*.json")]
