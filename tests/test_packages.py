"""Without Spark, Delta or PyTorch: what works all the same, and the sentence where one of them is needed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from vdr_spark.errors import EnvironmentProblem
from vdr_spark.packages import explain_missing_packages

ROOT = Path(__file__).parents[1]
CONF = str(ROOT / "conf" / "demo.yaml")
SPARK = ("pyspark", "py4j", "delta")
# A process in which some packages cannot be found runs pieces of code, and prints what they raise.
PROCESS = """
import json, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
raised = []
for code in {codes!r}:
    try:
        exec(code, {{}})
        raised.append("")
    except BaseException as problem:
        raised.append(f"{{type(problem).__name__}}: {{problem}}")
print("\\n" + json.dumps(raised))
"""


def run_without(missing: tuple[str, ...], codes: list[str], folder: Path) -> tuple[list[str], str]:
    """Return what each piece of code raises, and what the process says on standard error."""
    code = PROCESS.format(missing=missing, codes=codes)
    environment = {"PATH": "", "PYTHONPATH": str(ROOT)}
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, env=environment, check=True
    )
    return json.loads(said.stdout.splitlines()[-1]), said.stderr


def call(*arguments: str) -> str:
    return f"from vdr_spark.cli import main; main({list(arguments)!r})"


def test_what_is_missing_is_named_with_what_to_install() -> None:
    with (
        pytest.raises(EnvironmentProblem, match=r"package delta-spark is not .*pip install vdr-spark\[local\]"),
        explain_missing_packages(),
    ):
        raise ModuleNotFoundError("No module named 'delta'", name="delta")


@pytest.mark.parametrize("name", ["json5", "delta.exceptions.captured", None])
def test_another_import_that_fails_keeps_its_own_words(name: str | None) -> None:
    """A part of Delta that is missing means another version of it: to install Delta would be wrong advice."""
    with pytest.raises(ModuleNotFoundError, match="its own words"), explain_missing_packages():
        raise ModuleNotFoundError("its own words", name=name)


def test_help_and_explain_need_neither_spark_nor_pytorch(tmp_path: Path) -> None:
    codes = [call("--help"), call("query", "--help"), call("budget", "--help"), call("explain", CONF)]
    raised, _ = run_without((*SPARK, "torch", "petastorm"), codes, tmp_path)
    assert raised == ["SystemExit: 0"] * len(codes)


def test_a_command_that_needs_spark_says_so(tmp_path: Path) -> None:
    codes = [call(name, CONF) for name in ("collect", "denoise", "check", "audit", "demo", "evaluate")]
    raised, said = run_without(SPARK, codes, tmp_path)
    assert raised == ["SystemExit: 4"] * len(codes)
    assert said.count("the package pyspark is not installed") == len(codes)
    assert "Traceback" not in said


def test_in_python_too(tmp_path: Path) -> None:
    publisher = f"from vdr_spark import Publisher; publisher = Publisher.from_yaml({CONF!r}); publisher."
    methods = ("release()", "check()", "audit()", "synthesize()", "spark", "pipeline")
    codes = ["from vdr_spark import spark_session", "from vdr_spark import register_views"]
    raised, _ = run_without(("pyspark",), [*codes, *(publisher + method for method in methods)], tmp_path)
    assert len(raised) == 8
    assert all(words.startswith("EnvironmentProblem: this needs Spark, but the package pyspark") for words in raised)


def test_delta_and_pytorch_are_told_apart_from_spark(tmp_path: Path) -> None:
    denoise = (
        "from vdr_spark.pipeline import Pipeline\n"
        "class OneStage(Pipeline):\n"
        "    __init__ = object.__init__\n"
        "    def _denoise(self):\n"
        "        from vdr_spark.denoise.networks import training\n"
        "OneStage().run('denoise')"
    )
    (torch,), _ = run_without(("torch",), [denoise], tmp_path)
    assert torch.startswith("EnvironmentProblem: networks are trained by PyTorch, but the package torch is not")
    assert "vdr-spark[train]" in torch
    jars = (
        "from vdr_spark.config.settings import SparkSettings\n"
        "from vdr_spark.packages import explain_missing_packages\n"
        "from vdr_spark.spark.jars import jar_conf\n"
        "with explain_missing_packages(): jar_conf(SparkSettings())"
    )
    stages = "import vdr_spark.audit, vdr_spark.pipeline, vdr_spark.release.views"
    (delta, nothing), _ = run_without(("delta",), [jars, stages], tmp_path)
    assert "the package delta-spark is not installed" in delta
    assert nothing == ""  # what runs where Delta is there without its Python package, or behind Spark Connect


UNOPENED = (
    "from vdr_spark.config import load_config\n"
    "from vdr_spark.pipeline import Pipeline\n"
    "from vdr_spark.plan import make_plan\n"
    "from vdr_spark.stage_log import RELEASE_STAGES\n"
    "class Unopened(Pipeline):\n"
    "    spark = None\n"
    "    def __init__(self, config):\n"
    "        self.config, self.plan = config, make_plan(config)\n"
    "    def _require_room(self, stages):\n"
    "        pass\n"
)


@pytest.mark.parametrize(("model", "refused"), [("auto", True), ("blindspot", True), ("ridge", False)])
def test_a_release_that_will_want_pytorch_says_so_before_anything_is_reserved(
    tmp_path: Path, model: str, refused: bool
) -> None:
    code = f"{UNOPENED}Unopened(load_config({CONF!r}, ['denoise.model={model}'])).prepare(RELEASE_STAGES)"
    (said,), _ = run_without(("torch",), [code], tmp_path)
    assert said.startswith("EnvironmentProblem: networks are trained by PyTorch") if refused else said == ""


def test_stages_that_need_no_pytorch_do_without(tmp_path: Path) -> None:
    """Counting on one machine and denoising on another is usual."""
    code = f"{UNOPENED}Unopened(load_config({CONF!r})).prepare(('collect', 'refine', 'publish'))"
    assert run_without(("torch",), [code], tmp_path)[0] == [""]
