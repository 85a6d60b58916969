"""What must hold of the plan behind a table or a DataFrame, so that the bound of k pings means what it says.

**The same rows again.** Spark may compute a part of a plan again after some of its output was read: an executor is
lost, a fetch fails, a slow task is run twice. What `collect` keeps of a user is a function of the key and of their
rows. If the second computation gave *other* rows of a user than the first, the slices read before would hold k pings of
one version of the rows and the slices read after k of the other: the user would be in the release with up to 2k pings,
more than the noise is made for, and nothing in the output would show it.

**Each person's own rows.** The promise is about taking one user away with all their rows. If a plan ranks, scales or
filters rows by what *others* did ("only places with three pings or more"), taking one user away changes other users'
rows too, and no bound on that user's own pings covers it.

Both hold of plans that look at one row at a time, by Spark's own deterministic functions, over files, Delta tables and
local rows. So the analysed plan is walked, and its operators and leaves have to be on lists of what is known as safe:
what is unknown, or looks at several rows together (aggregates, windows, limits, distinct, subqueries, a join of a table
with itself), is refused. Joins with other tables are taken: that these are public is the person's to mind. Where that
is too strict, a person can vouch for a plan with `input.trust_plan: true`.

**Remote sessions** (Spark Connect) have no plan to look at: the client holds names, and what they stand for is the
server's. A table that is given by its name is looked up there, and taken if it is one of files, and nothing is computed
on the way to its rows. Views and DataFrames have to be vouched for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from vdr_spark.config.settings import InputSettings
from vdr_spark.errors import InvalidInput
from vdr_spark.storage.sql_names import quote_full_name

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
_FILES = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"  # Delta's are of this kind too
_FILE_TABLE = "org.apache.spark.sql.execution.datasources.v2.FileTable"

# Operators that make each row of one row, or of one row of each side.
_SAFE_OPERATORS = frozenset(
    [
        *("Project", "Filter", "SubqueryAlias", "View", "Union", "Join", "Sort", "ResolvedHint", "Expand", "Generate"),
        *("WithCTE", "CTERelationDef", "Repartition", "RepartitionByExpression", "PipeOperator"),
    ]
)
_SAFE_LEAVES = frozenset(["LocalRelation", "Range", "OneRowRelation", "CTERelationRef", "HiveTableRelation"])
# Deterministic in Spark's eyes, and yet another value each time: by a random initialisation vector, and by coins that
# decide what a sketch of quantiles drops when it is merged.
_RANDOM_ALL_THE_SAME = frozenset(
    ["AesEncrypt", "KllSketchMergeBigint", "KllSketchMergeDouble", "KllSketchMergeFloat"],
)
_TOLERANT = ("ignorecorruptfiles", "ignoremissingfiles")  # options by which a file may be there at times

# What `DESCRIBE TABLE EXTENDED` says of a table of files, on a server whose plans cannot be looked at.
_TABLE_TYPES = frozenset(["MANAGED", "EXTERNAL"])
_FILE_PROVIDERS = frozenset(["delta", "parquet", "orc", "avro", "csv", "json", "text", "hive"])
# Its headings. Another one may tell of a filter or a mask that is computed, by whatever function, when rows are read.
_PLAIN_HEADINGS = frozenset(
    [
        *("# col_name", "# Detailed Table Information", "# Partition Information", "# Partitioning"),
        *("# Clustering Information", "# Metadata Columns", "# Storage Information", "# Constraints"),
    ]
)

_TOGETHER = "which looks at several rows together, other people's among them"
_EXPLANATIONS = {
    "Aggregate": f"an aggregate, {_TOGETHER}",
    "Window": f"a window, {_TOGETHER}",
    "Distinct": f"a distinct, {_TOGETHER}",
    "Deduplicate": f"dropDuplicates, {_TOGETHER}",
    "Except": f"an except, {_TOGETHER}",
    "Intersect": f"an intersect, {_TOGETHER}",
    "GlobalLimit": "a limit, which keeps whichever rows come first",
    "LocalLimit": "a limit, which keeps whichever rows come first",
    "Offset": "an offset, which leaves out whichever rows come first",
    "Tail": "a tail, which keeps whichever rows come last",
    "Sample": "a sample, which depends on the order of rows",
    "LogicalRDD": "rows that came from Python or an RDD (createDataFrame, checkpoint), which it cannot look into",
    "MapInPandas": "mapInPandas, a Python function that it cannot look into",
    "MapInArrow": "mapInArrow, a Python function that it cannot look into",
    "PythonMapInArrow": "mapInArrow, a Python function that it cannot look into",
    "FlatMapGroupsInPandas": "applyInPandas, a Python function that it cannot look into",
}


def check_recomputable(frame: DataFrame, settings: InputSettings) -> None:
    """Refuse a DataFrame whose plan may give other rows when it is computed again, or mixes people's rows.

    A person may vouch for it, but for a stream.
    """
    if frame.isStreaming:
        raise InvalidInput(
            f"input: {settings.location} is a stream, and a release is of what is there; write it to a table first, "
            "and name that in input.table"
        )
    if settings.trust_plan:
        return
    plan = _analysed_plan(frame)
    found = next(_doubt_remote(frame, settings) if plan is None else _find_doubts(plan), None)
    if found is not None:
        raise InvalidInput(
            f"input: {settings.location} is computed by a plan with {found}. Computed again, as Spark does after a "
            "failure, a plan must give the same rows, and each person's rows must depend on that person's own; else "
            "people count with more than k pings. Filter, map and join row by row; or, if you vouch for both, set "
            "input.trust_plan: true"
        )


def _analysed_plan(frame: DataFrame) -> Any:
    """Return the plan as the JVM holds it, with views and names resolved; None where there is no JVM to ask."""
    try:
        return frame._jdf.queryExecution().analyzed()
    except (AttributeError, PySparkException):
        return None


def _doubt_remote(frame: DataFrame, settings: InputSettings) -> Iterator[str]:
    """Yield why what a remote session reads is not known to be safe: all but tables of files, by their names."""
    if settings.table is None:
        yield "something that cannot be looked at (a DataFrame over Spark Connect)"
    else:
        yield from doubt_described(_describe_table(frame.sparkSession, settings.table))


def _describe_table(spark: SparkSession, name: str) -> list[tuple[str, str]]:
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {quote_full_name(name)}").collect()
    return [(row["col_name"] or "", row["data_type"] or "") for row in rows]


def doubt_described(lines: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield why a table, as `DESCRIBE TABLE EXTENDED` has it, is not known to hold rows that are there and stay."""
    headings = {name for name, _ in lines if name.startswith("#")}
    # Columns come first, and one may be called `Type`.
    begin = next((place for place, (name, _) in enumerate(lines) if name == "# Detailed Table Information"), len(lines))
    said = dict(lines[begin:])
    if said.get("Type") not in _TABLE_TYPES:
        yield "something that cannot be looked at (a view, or another kind of table, over Spark Connect)"
    if said.get("Provider", "").lower() not in _FILE_PROVIDERS:
        yield "a source that is neither files nor a Delta table"
    if unknown := headings - _PLAIN_HEADINGS:
        yield f"what its description heads `{min(unknown)}`, of which it does not know what it does to rows"
    if any(option in f"{said}".lower() for option in _TOLERANT):
        yield "files of which damaged or missing ones are left out, and may be there at another time"


def _find_doubts(plan: Any) -> Iterator[str]:
    """Yield what in a plan is not known to be safe, in words that quote no value."""
    name, children = _name(plan), _items(plan.children())
    if name in _EXPLANATIONS:
        yield _EXPLANATIONS[name]
    elif not children:
        yield from _doubt_leaf(plan, name)
    elif name not in _SAFE_OPERATORS:
        yield f"the operator {name}, of which it does not know whether it looks at one row at a time"
    if name == "Join" and _sources(children[0]) & _sources(children[1]):
        yield f"a join of a table with itself, {_TOGETHER}"
    # Rows that are dealt out in turn go elsewhere when they arrive otherwise, unless Spark sorts them first.
    if name == "Repartition" and not plan.conf().sortBeforeRepartition():
        yield "a repartition while spark.sql.execution.sortBeforeRepartition is off, which may lose and double rows"
    for expression in _items(plan.expressions()):
        yield from _doubt_expression(expression)
    for child in children:
        yield from _find_doubts(child)


def _doubt_leaf(plan: Any, name: str) -> Iterator[str]:
    safe = name in _SAFE_LEAVES
    if name == "LogicalRelation":
        safe = _is_a(plan.relation(), _FILES)
        if safe and any(option in str(plan.relation().options()).lower() for option in _TOLERANT):
            yield "files of which damaged or missing ones are left out, and may be there at another time"
    elif name == "DataSourceV2Relation":
        safe = _is_a(plan.table(), _FILE_TABLE)
    if not safe:
        yield f"a source that is neither files nor a Delta table ({name})"


def _doubt_expression(expression: Any) -> Iterator[str]:
    """Look for functions that are not deterministic or not Spark's, and for subqueries."""
    name, children = _name(expression), _items(expression.children())
    if not expression.getClass().getName().startswith(_EXPRESSIONS):
        yield f"the function {name}, which it does not know"
    elif _is_a(expression, _EXPRESSIONS + "UserDefinedExpression") or name.startswith("Python"):
        yield f"a function that is not Spark's own ({name}), which it cannot look into"
    elif _is_a(expression, _EXPRESSIONS + "PlanExpression"):
        yield f"a subquery, {_TOGETHER}"
    elif name in _RANDOM_ALL_THE_SAME:
        yield f"the function {name}, which gives another value each time"
    elif not expression.deterministic() and all(child.deterministic() for child in children):
        yield f"the function {name}, which gives another value each time or depends on the order of rows"
    for child in children:
        yield from _doubt_expression(child)


def _sources(plan: Any) -> set[str]:
    """Return what tells the sources of a plan apart: the places of files, or the number of a common table."""
    name, children = _name(plan), _items(plan.children())
    if name == "LogicalRelation" and _is_a(plan.relation(), _FILES):
        return {str(plan.relation().location().rootPaths())}
    if name == "CTERelationRef":
        return {f"common table {plan.cteId()}"}
    return set().union(*(_sources(child) for child in children))


def _items(sequence: Any) -> list[Any]:
    """Return a Scala sequence as a list."""
    return [sequence.apply(position) for position in range(sequence.size())]


def _name(node: Any) -> str:
    """Return the plain class name of a node of the JVM; objects of Scala's end in a dollar sign."""
    return str(node.getClass().getName()).rsplit(".", 1)[-1].rsplit("$", 1)[0]


def _is_a(node: Any, kind: str) -> bool:
    from py4j.java_gateway import is_instance_of  # a remote session has no Java to ask
    from pyspark import SparkContext

    return bool(is_instance_of(SparkContext._gateway, node, kind))
