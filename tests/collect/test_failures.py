"""A job that failed is told in words that quote nobody, and end in what to do."""

from collections.abc import Callable

from vdr_spark.collect.failures import describe_failure
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import DiskFull, EnvironmentProblem, InvalidInput, JobFailed

Small = Callable[..., ReleaseConfig]


def test_a_file_named_after_its_user_is_not_named(small_config: Small) -> None:
    problem = RuntimeError("[FAILED_READ_FILE.NO_HINT] while reading file:/data/new_CANARY.txt")
    taxis = small_config("input.layout=cabspotting", "synth=null")
    assert "CANARY" not in str(describe_failure(problem, taxis.input))
    assert "CANARY" in str(describe_failure(problem, small_config().input))
    in_a_folder = RuntimeError("[FAILED_READ_FILE.NO_HINT] while reading file:///data/user_id=CANARY/part-0.parquet")
    assert "CANARY" not in str(describe_failure(in_a_folder, small_config().input))


def test_a_damaged_file_is_the_users_to_mend_and_the_rest_is_a_defect(small_config: Small) -> None:
    settings = small_config().input
    told = describe_failure(
        RuntimeError("[FAILED_READ_FILE.NO_HINT] file:/data/a.parquet"), settings, "; nothing is lost"
    )
    assert isinstance(told, InvalidInput)
    assert str(told).endswith("run the same command again; nothing is lost.")
    defect = describe_failure(RuntimeError("The value 'anna' cannot be cast"), settings)
    assert isinstance(defect, JobFailed)
    assert "anna" not in str(defect)


def test_workers_without_our_package_are_told_as_that(small_config: Small) -> None:
    """As under spark-submit without an environment that travels along; a module's name that may be data is not told."""
    settings = small_config().input
    account = (
        "Traceback (most recent call last):\n  File ...\nModuleNotFoundError: No module named '{}'\n\n\tat org.apache"
    )
    told = describe_failure(RuntimeError(account.format("vdr_spark")), settings, "; nothing is lost")
    assert isinstance(told, EnvironmentProblem)
    assert "cannot import vdr_spark" in str(told)
    assert str(told).endswith("run the same command again; nothing is lost.")
    defect = describe_failure(RuntimeError(account.format("anna")), settings)
    assert isinstance(defect, JobFailed)
    assert "anna" not in str(defect)


def test_a_full_disk_and_too_little_memory_are_to_be_mended(small_config: Small) -> None:
    settings = small_config().input
    full = describe_failure(
        RuntimeError("Task failed: 'anna' java.io.IOException: No space left on device"), settings, "; nothing is lost"
    )
    assert isinstance(full, DiskFull)
    assert str(full).endswith("run the same command again; nothing is lost")
    heap = describe_failure(RuntimeError("java.lang.OutOfMemoryError: Java heap space 'anna'"), settings)
    assert isinstance(heap, EnvironmentProblem)
    assert "spark.driver_memory" in str(heap)
    assert "anna" not in f"{full} {heap}"
