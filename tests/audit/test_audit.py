"""What a check stumbles over: the release's fault, or the machine's."""

from typing import Any

import pytest

from vdr_spark.audit.audit import _run
from vdr_spark.audit.subject import CannotTell, CheckFailed
from vdr_spark.errors import EnvironmentProblem

MISSING = ModuleNotFoundError("No module named 'scipy'", name="scipy")


@pytest.mark.parametrize(
    ("problem", "holds", "told"),
    [
        (CheckFailed("too much"), False, "too much"),
        (ValueError("row of anna"), False, "it could not even be looked at (ValueError): files are damaged"),
        (CannotTell("too few cells"), None, "too few cells"),
        (MISSING, None, "cannot be told here: the Python package scipy is missing"),
        (EnvironmentProblem("no Java"), None, "no Java"),
    ],
)
def test_what_a_check_stumbles_over(problem: Exception, holds: bool | None, told: str) -> None:
    def check(_: Any) -> str:
        raise problem

    subject: Any = None
    found = _run("noise", check, subject)
    assert (found.holds, found.found) == (holds, told)
