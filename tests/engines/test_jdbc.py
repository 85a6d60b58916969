"""Spark's Thrift server by JDBC, as BI tools ask it: Hive's driver and its command line, from Spark's own jars."""

from __future__ import annotations

import subprocess

import pyspark
import pytest

from tests.engines.engines import Published
from tests.engines.test_engines import exact_sum

pytestmark = pytest.mark.engines


def test_a_connection_that_names_its_schema(thrift_ports: tuple[int, int], by_name: Published) -> None:
    sql = f"SELECT sum(CAST(count AS DOUBLE)) FROM cells WHERE release_id = '{by_name.release.release_id}'"
    words = ["java", "-cp", f"{pyspark.__path__[0]}/jars/*", "org.apache.hive.beeline.BeeLine"]
    words += ["--silent=true", "--showHeader=false", "--outputformat=csv2"]  # before -e, or they are not looked at
    words += ["-u", f"jdbc:hive2://127.0.0.1:{thrift_ports[0]}/{by_name.schema}", "-n", "analyst", "-e", sql]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) == exact_sum(by_name.release.counts)  # after the prompt
