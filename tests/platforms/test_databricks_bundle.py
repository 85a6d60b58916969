"""The bundle, checked without Databricks: documented fields, our own commands and options, names that exist."""

import copy
import re
import tomllib
from collections.abc import Callable
from graphlib import TopologicalSorter
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import typer.main
import yaml

from tests.conftest import ROOT
from tests.platforms.bundle_fields import BUNDLE, REFERENCE, RESOURCES, problems, texts
from vdr_spark.cli.app import app
from vdr_spark.config import ReleaseConfig, load_config

Job = dict[str, Any]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SETTINGS = yaml.safe_load((ROOT / "databricks.yml").read_text())
FILES = sorted(path for pattern in SETTINGS["include"] for path in ROOT.glob(pattern))
JOBS: dict[str, Job] = {
    name: job for file in FILES for name, job in yaml.safe_load(file.read_text())["resources"]["jobs"].items()
}
RELEASE = JOBS["release"]
TASKS = {task["task_key"]: task for task in RELEASE["tasks"]}
CLUSTERS = {cluster["job_cluster_key"]: cluster["new_cluster"] for cluster in RELEASE["job_clusters"]}
# Long-term support, for machine learning, with Spark 4.0; docs/platforms/databricks.md says why no older one.
RUNTIMES = {"17.3.x-cpu-ml-scala2.13", "17.3.x-gpu-ml-scala2.13"}
JOB_PARAMETER = re.compile(r"\{\{job\.parameters\.(\w+)\}\}")


def test_all_fields_are_documented_ones() -> None:
    assert list(problems(SETTINGS, BUNDLE)) == []
    assert FILES
    for file in FILES:
        assert list(problems(yaml.safe_load(file.read_text()), RESOURCES)) == []


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (lambda job: job.update(shedule={}), "release.shedule: not among"),
        (lambda job: job["schedule"].update(pause_status="STOPPED"), "'STOPPED' is none of"),
        (lambda job: job.update(max_concurrent_runs="1"), "'1' is no int"),
        (lambda job: job["queue"].update(enabled=1), "1 is no bool"),
        (lambda job: job["tasks"][0].update(depends_on="synth"), "'synth' is no list"),
        (
            lambda job: job["job_clusters"][0]["new_cluster"]["spark_conf"].update(a=True),
            "spark_conf.a: True is no str",
        ),
        (lambda job: job["job_clusters"][0].update(new_cluster=None), "None is no map"),
    ],
)
def test_a_mistake_in_a_field_is_found(mistake: Callable[[Job], None], words: str) -> None:
    job = copy.deepcopy(RELEASE)
    mistake(job)
    assert words in "\n".join(problems({"resources": {"jobs": {"release": job}}}, RESOURCES))


def test_every_variable_is_declared_and_used() -> None:
    referred = {name for text in texts([SETTINGS, JOBS]) for name in REFERENCE.findall(text)}
    variables = {name.removeprefix("var.") for name in referred if name.startswith("var.")}
    assert variables == set(SETTINGS["variables"])
    assert referred - {f"var.{name}" for name in variables} == {"workspace.file_path"}
    for target in SETTINGS["targets"].values():
        assert set(target.get("variables", {})) <= set(SETTINGS["variables"])
    left = [text for text in texts([SETTINGS, JOBS]) if "$" in REFERENCE.sub("", text)]
    assert left == []


def test_every_job_parameter_is_declared_and_used() -> None:
    used = {name for text in texts(RELEASE["tasks"]) for name in JOB_PARAMETER.findall(text)}
    assert used == {parameter["name"] for parameter in RELEASE["parameters"]}


def test_tasks_are_the_stages_in_their_order() -> None:
    needs = {key: {other["task_key"] for other in task.get("depends_on", [])} for key, task in TASKS.items()}
    assert set().union(*needs.values()) <= set(TASKS)
    assert list(TopologicalSorter(needs).static_order()) == ["collect", "denoise", "refine", "publish", "audit"]
    assert {task["job_cluster_key"] for task in TASKS.values()} == set(CLUSTERS)


@pytest.mark.parametrize("key", TASKS)
def test_a_task_calls_an_entry_point_of_our_wheel(key: str) -> None:
    wheel_task = TASKS[key]["python_wheel_task"]
    assert wheel_task["package_name"] == PROJECT["name"].replace("-", "_")
    assert wheel_task["entry_point"] == key
    assert key in PROJECT["entry-points"]["vdr_spark.tasks"]  # tests/cli/test_tasks.py calls them
    assert TASKS[key]["libraries"] == [{"whl": "../dist/*.whl"}]  # as seen from resources/
    assert SETTINGS["artifacts"]["wheel"]["build"].split()[-3:] == ["--out-dir", "dist", "."]


def filled_in(key: str) -> list[str]:
    """The parameters of a task as Databricks hands them over: variables and job parameters put in."""
    values = {f"var.{name}": variable["default"] for name, variable in SETTINGS["variables"].items()}
    values["workspace.file_path"] = str(ROOT)
    of_job = {parameter["name"]: parameter["default"] for parameter in RELEASE["parameters"]}
    with_jobs = (
        JOB_PARAMETER.sub(lambda m: of_job[m[1]], text) for text in TASKS[key]["python_wheel_task"]["parameters"]
    )
    return [REFERENCE.sub(lambda m: values[m[1]], text) for text in with_jobs]


@pytest.mark.parametrize("key", TASKS)
def test_the_command_line_takes_the_parameters_of_a_task(key: str) -> None:
    command = typer.main.get_command(app).commands[key]
    context = command.make_context(key, filled_in(key))  # parses, and refuses what it does not know; nothing is run
    config = load_config(context.params["conf"], context.params["overrides"])
    assert config.input.table == "main.mobility.pings"
    assert config.output == "/Volumes/main/vdr/releases"
    assert config.tables == "main.vdr"
    assert config.ledger_head == "/Volumes/main/vdr/ledger/ledger.head.json"
    assert config.single_writer
    with pytest.raises(Exception, match="No such option: --catalog"):
        command.make_context(key, [*filled_in(key), "--catalog=main"])


def test_without_parameters_the_configuration_means_the_same() -> None:
    """So that `vdr explain conf/databricks.yaml` says what the job will do."""
    overrides = [text.removeprefix("--set=") for text in filled_in("collect")[1:]]
    alone: ReleaseConfig = load_config(ROOT / "conf/databricks.yaml")
    assert load_config(ROOT / "conf/databricks.yaml", overrides) == alone


@pytest.mark.parametrize("key", CLUSTERS)
def test_clusters_protect_what_lies_on_their_disks(key: str) -> None:
    cluster = CLUSTERS[key]
    assert cluster["spark_version"] in RUNTIMES
    assert cluster["data_security_mode"] == "SINGLE_USER"
    assert cluster["enable_local_disk_encryption"] is True
    assert cluster["spark_conf"]["spark.io.encryption.enabled"] == "true"
    for script in cluster["init_scripts"]:
        assert (ROOT / script["workspace"]["destination"].removeprefix("${workspace.file_path}/")).is_file()


def test_the_gpu_is_one_machine() -> None:
    """By the documented settings of a single node: without them Spark would wait for workers for ever."""
    gpu = CLUSTERS[TASKS["denoise"]["job_cluster_key"]]
    assert "-gpu-ml-" in gpu["spark_version"]
    assert all("-gpu-" not in cluster["spark_version"] for cluster in CLUSTERS.values() if cluster is not gpu)
    alone = [cluster for cluster in CLUSTERS.values() if "autoscale" not in cluster]
    assert gpu in alone
    for cluster in alone:
        assert cluster["num_workers"] == 0
        assert cluster["spark_conf"]["spark.databricks.cluster.profile"] == "singleNode"
        assert cluster["spark_conf"]["spark.master"].startswith("local[*")
        assert cluster["custom_tags"] == {"ResourceClass": "SingleNode"}


def test_nothing_is_released_by_itself_or_twice_at_once() -> None:
    assert RELEASE["schedule"]["pause_status"] == "PAUSED"
    assert len(RELEASE["schedule"]["quartz_cron_expression"].split()) in (6, 7)  # Quartz counts seconds
    ZoneInfo(RELEASE["schedule"]["timezone_id"])
    assert RELEASE["max_concurrent_runs"] == 1
    assert SETTINGS["targets"]["dev"]["presets"]["jobs_max_concurrent_runs"] == 1  # development mode has 4


def test_what_is_uploaded_is_named_and_there() -> None:
    assert all((ROOT / path).is_dir() for path in SETTINGS["sync"]["paths"])
    assert (ROOT / "conf" / SETTINGS["variables"]["configuration"]["default"]).is_file()
    assert [name for name, target in SETTINGS["targets"].items() if target.get("default")] == ["dev"]


def test_the_series_is_released_by_the_command_line_and_only_when_people_switch_it_on() -> None:
    job = JOBS["series"]
    (task,) = job["tasks"]
    assert task["python_wheel_task"]["entry_point"] == "release"
    assert "release" in PROJECT["entry-points"]["vdr_spark.tasks"]
    words = [JOB_PARAMETER.sub("x", text) for text in task["python_wheel_task"]["parameters"]]
    values = {f"var.{name}": variable["default"] for name, variable in SETTINGS["variables"].items()}
    filled = [REFERENCE.sub(lambda m: (values | {"workspace.file_path": str(ROOT)})[m[1]], text) for text in words]
    context = typer.main.get_command(app).commands["release"].make_context("release", filled)
    assert (context.params["until"], context.params["yes"]) == ("today", True)
    config = load_config(context.params["conf"], [*context.params["overrides"], "window=2026-W02"])
    assert config.single_writer
    used = {name for text in texts(job["tasks"]) for name in JOB_PARAMETER.findall(text)}
    assert used == {parameter["name"] for parameter in job["parameters"]}
    assert (job["schedule"]["pause_status"], job["max_concurrent_runs"]) == ("PAUSED", 1)
    (cluster,) = [one["new_cluster"] for one in job["job_clusters"]]
    assert cluster["spark_version"] in RUNTIMES
    assert (cluster["data_security_mode"], cluster["enable_local_disk_encryption"]) == ("SINGLE_USER", True)
    assert cluster["spark_conf"] == CLUSTERS["workers"]["spark_conf"]
    assert cluster["init_scripts"] == CLUSTERS["workers"]["init_scripts"]
