"""The documented fields of a Databricks bundle that ours uses, with their types: whatever is not here is refused.

Names and types are those of Databricks' references of bundle settings, of bundle resources and of the Jobs API. A field
that is added to the bundle is looked up there and added here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

REFERENCE = re.compile(r"\$\{([a-z_.]+)\}")


class Choice(tuple[str, ...]):
    """A text that is one of these."""


class ByName(dict[str, Any]):
    """A map whose keys are names of our own; each value has these fields."""


class Texts:
    """A map from texts to texts, such as Spark's settings."""


WORKSPACE_FILE = {"workspace": {"destination": str}}
CLUSTER = {
    "spark_version": str,
    "node_type_id": str,
    "num_workers": int,
    "autoscale": {"min_workers": int, "max_workers": int},
    "data_security_mode": Choice(("SINGLE_USER", "USER_ISOLATION", "NONE")),
    "enable_local_disk_encryption": bool,
    "spark_conf": Texts,
    "custom_tags": Texts,
    "init_scripts": [WORKSPACE_FILE],
}
TASK = {
    "task_key": str,
    "depends_on": [{"task_key": str}],
    "job_cluster_key": str,
    "python_wheel_task": {"package_name": str, "entry_point": str, "parameters": [str]},
    "libraries": [{"whl": str}],
}
JOB = {
    "name": str,
    "max_concurrent_runs": int,
    "queue": {"enabled": bool},
    "schedule": {
        "quartz_cron_expression": str,
        "timezone_id": str,
        "pause_status": Choice(("PAUSED", "UNPAUSED")),
    },
    "parameters": [{"name": str, "default": str}],
    "tasks": [TASK],
    "job_clusters": [{"job_cluster_key": str, "new_cluster": CLUSTER}],
}
RESOURCES = {"resources": {"jobs": ByName(JOB)}}
TARGET = {
    "default": bool,
    "mode": Choice(("development", "production")),
    "variables": Texts,
    "presets": {"jobs_max_concurrent_runs": int},
    "run_as": {"service_principal_name": str},
    "permissions": [
        {
            "level": Choice(("CAN_MANAGE", "CAN_RUN", "CAN_VIEW")),
            "group_name": str,
            "service_principal_name": str,
        }
    ],
}
BUNDLE = {
    "bundle": {"name": str},
    "include": [str],
    "sync": {"paths": [str]},
    "artifacts": ByName({"type": Choice(("whl",)), "path": str, "build": str}),
    "variables": ByName({"description": str, "default": str}),
    "targets": ByName(TARGET),
}


def problems(found: object, fields: Any, where: str = "") -> Iterator[str]:
    """Say of every unknown field and every value of another type where it is."""
    if isinstance(fields, Choice):
        if found not in fields:
            yield f"{where}: {found!r} is none of {', '.join(fields)}"
    elif fields is Texts:
        yield from problems(found, dict.fromkeys(found, str) if isinstance(found, dict) else {}, where)
    elif isinstance(fields, list):
        if not isinstance(found, list):
            yield f"{where}: {found!r} is no list"
            return
        for number, item in enumerate(found):
            yield from problems(item, fields[0], f"{where}[{number}]")
    elif isinstance(fields, dict):
        if not isinstance(found, dict):
            yield f"{where}: {found!r} is no map"
            return
        for key, value in found.items():
            known = dict(fields) if isinstance(fields, ByName) else fields.get(key)
            if known is None:
                yield f"{where}.{key}: not among the documented fields that we use"
            else:
                yield from problems(value, known, f"{where}.{key}")
    elif type(found) is not fields:
        yield f"{where}: {found!r} is no {fields.__name__}"


def texts(node: object) -> Iterator[str]:
    """Return every text in a tree, keys apart."""
    if isinstance(node, dict):
        for value in node.values():
            yield from texts(value)
    elif isinstance(node, list):
        for value in node:
            yield from texts(value)
    elif isinstance(node, str):
        yield node
