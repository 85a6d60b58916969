"""Modules are loaded beside other work, and one that cannot be is told by whoever needs it."""

import subprocess
import sys


def test_a_module_is_there_at_the_end_and_a_missing_one_is_no_error() -> None:
    program = (
        "import sys; from vdr_spark.spark.meanwhile import load_meanwhile\n"
        "with load_meanwhile('no.such.module', 'fractions'): pass\n"
        "print('fractions' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "True"
