"""What must hold of the plan behind a table or a DataFrame, so that the bound of k pings survives a recomputation.

Spark may compute a part of a plan again after some of its output was read: an executor is lost, a fetch fails, a slow
task is run twice. What `collect` keeps of a user is a function of the run's key and of the user's rows. If the second
computation gave *other* rows of a user than the first, the slices read before would hold k pings of one version of the
rows and the slices read after k of the other: the user would be in the release with up to 2k pings, more than the noise
is made for, and nothing in the output would show it. So the plan has to give the same rows, to the last bit, in
whatever order, each time it is computed. Files, Delta tables and local rows do. A plan over them does if

* every expression is deterministic in Spark's eyes and Spark's own: `rand()` is not deterministic, and into a function
  of somebody's Python or Scala we cannot look. (`current_timestamp()` is fixed once for the whole query.)
* no operator depends on the order in which rows arrive: no limit, no sample, no `first` or `collect_list`, no sum of
  floating-point numbers, no row number, whose ties would be broken anew. Spark calls most of these deterministic.

So the analysed plan is walked, and operators, leaves and aggregate functions have to be on lists of what is known to be
safe: what is unknown is refused. Where that is too strict, or a plan cannot be looked at (Spark Connect), a person can
vouch for it with `input.deterministic: true`, or write the rows to a table and name that.

One thing cannot be seen in a plan, and is the person's to mind: the rows of a user must depend on that user's own rows
and on public tables only. Rows that were normalised, ranked or filtered by what *others* did carry others' data, and
bounding the user bounds nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from py4j.java_gateway import is_instance_of
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from vdr_spark.config.settings import InputSettings
from vdr_spark.errors import InvalidInput

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
_FILES = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"  # Delta's are of this kind too
_FILE_TABLE = "org.apache.spark.sql.execution.datasources.v2.FileTable"

# Operators that give the same rows for the same rows, whatever the order of either.
_SAFE_OPERATORS = frozenset(
    [
        "Project",
        "Filter",
        "SubqueryAlias",
        "View",
        "Union",
        "Join",
        "LateralJoin",
        "Intersect",
        "Except",
        "Distinct",
        "Sort",
        "ResolvedHint",
        "Expand",
        "Generate",
        "Subquery",
        "WithCTE",
        "CTERelationDef",
    ]
)
_SAFE_LEAVES = frozenset(["LocalRelation", "Range", "OneRowRelation", "CTERelationRef", "HiveTableRelation"])
# Over anything but floating-point numbers and collated text, of which equal values may differ in their bits.
_SAFE_AGGREGATES = frozenset(
    ["Count", "CountIf", "Min", "Max", "Sum", "BoolAnd", "BoolOr", "BitAndAgg", "BitOrAgg", "BitXorAgg"]
)
_COUNTS = frozenset(["Count", "CountIf"])  # which give a whole number, whatever they count
_SAFE_WINDOW_FUNCTIONS = frozenset(["Rank", "DenseRank", "PercentRank", "CumeDist"])  # ties get the same number
_GROUPING = frozenset(
    ["Aggregate", "Deduplicate", "Distinct", "Intersect", "Except"]
)  # which keep one row of equal ones

_EXPLANATIONS = {
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
    """Refuse a DataFrame whose plan may give other rows when it is computed again, unless a person vouches for it."""
    if frame.isStreaming:
        raise InvalidInput(
            f"input: {settings.location} is a stream, and a release is of what is there; write it to a table first, "
            "and name that in input.table"
        )
    if settings.deterministic:
        return
    plan = _analysed_plan(frame)
    found = "something that cannot be looked at (Spark Connect)" if plan is None else next(_find_doubts(plan), None)
    if found is not None:
        raise InvalidInput(
            f"input: {settings.location} is computed by a plan with {found}. Computed again, as Spark does after a "
            "failure, it could give other rows of the same people, who would then be counted with more than k pings. "
            "Write it to a table and name that in input.table; or, if you vouch that it gives the same rows whenever "
            "it is computed, set input.deterministic: true"
        )


def _analysed_plan(frame: DataFrame) -> Any:
    """Return the plan as the JVM holds it, with views and names resolved; None where there is no JVM to ask."""
    try:
        return frame._jdf.queryExecution().analyzed()
    except (AttributeError, PySparkException):
        return None


def _find_doubts(plan: Any) -> Iterator[str]:
    """Yield what in a plan may give other rows when it is computed again, in words that quote no value."""
    name = _name(plan)
    checks = {
        "Aggregate": _doubt_grouping,
        "Window": _doubt_grouping,
        "Deduplicate": _doubt_deduplication,
        "Repartition": _doubt_repartition,
        "RepartitionByExpression": _doubt_repartition,
    }
    if name in _EXPLANATIONS:
        yield _EXPLANATIONS[name]
    elif not _items(plan.children()):
        if not _is_safe_leaf(plan, name):
            yield f"a source that is neither files nor a Delta table ({name})"
    elif name not in _SAFE_OPERATORS and name not in checks:
        yield f"the operator {name}, of which it does not know whether it depends on the order of rows"
    if name in checks:
        yield from checks[name](plan)
    if name in _GROUPING and any("COLLATE" in _type(column) for column in _items(plan.output())):
        yield "rows grouped by text with a collation, of which any spelling may be kept"
    for expression in _items(plan.expressions()):
        yield from _doubt_expression(expression)
    for child in _items(plan.children()):
        yield from _find_doubts(child)


def _is_safe_leaf(plan: Any, name: str) -> bool:
    if name == "LogicalRelation":
        return _is_a(plan.relation(), _FILES)
    if name == "DataSourceV2Relation":
        return _is_a(plan.table(), _FILE_TABLE)
    return name in _SAFE_LEAVES


def _doubt_expression(expression: Any) -> Iterator[str]:
    """Look for functions that are not deterministic or not Spark's, and into subqueries."""
    children = _items(expression.children())
    if not expression.getClass().getName().startswith(_EXPRESSIONS):
        yield f"the function {_name(expression)}, which it does not know"
    elif _is_a(expression, _EXPRESSIONS + "UserDefinedExpression") or _name(expression).startswith("Python"):
        yield f"a function that is not Spark's own ({_name(expression)}), which it cannot look into"
    elif _is_a(expression, _EXPRESSIONS + "PlanExpression"):
        yield from _find_doubts(expression.plan())
    elif not expression.deterministic() and all(child.deterministic() for child in children):
        yield f"the function {_name(expression)}, which gives another value each time or depends on the order of rows"
    for child in children:
        yield from _doubt_expression(child)


def _doubt_grouping(plan: Any) -> Iterator[str]:
    """Look for functions over many rows that see the order in which these arrive."""
    for expression in _items(plan.expressions()):
        for part in _descend(expression):
            if _name(part) == "AggregateExpression":
                yield from _doubt_aggregate(part.aggregateFunction())
            elif _name(part) == "WindowExpression":
                yield from _doubt_window(part)


def _doubt_aggregate(function: Any) -> Iterator[str]:
    name = _name(function)
    if function.prettyName().startswith("try_"):  # which gives null where any partial sum overflows
        yield f"the aggregate function {function.prettyName()}, which may depend on the order of rows"
    elif name not in _SAFE_AGGREGATES:
        yield f"the aggregate function {name}, which may depend on the order of rows"
    elif name not in _COUNTS and any(_is_inexact(child) for child in _items(function.children())):
        yield f"the aggregate {name} of floating-point numbers or collated text, whose bits depend on the order of rows"


def _doubt_window(expression: Any) -> Iterator[str]:
    """Look for windows that tell tied rows apart. Those over whole partitions, or over a range of values, do not."""
    function, frame = expression.windowFunction(), expression.windowSpec().frameSpecification()
    if _name(function) == "AggregateExpression":  # which function it is, was asked already
        unbounded = {_name(frame.lower()), _name(frame.upper())} == {"UnboundedPreceding", "UnboundedFollowing"}
        if not unbounded and _name(frame.frameType()) != "RangeFrame":
            yield "a window over a number of rows, among which ties may change places"
    elif _name(function) not in _SAFE_WINDOW_FUNCTIONS:
        yield f"the window function {_name(function)}, which breaks ties by the order of rows"


def _doubt_deduplication(plan: Any) -> Iterator[str]:
    keys = {key.exprId().id() for key in _items(plan.keys())}
    if any(column.exprId().id() not in keys for column in _items(plan.output())):
        yield "dropDuplicates by some of the columns, which keeps whichever row comes first"


def _doubt_repartition(plan: Any) -> Iterator[str]:
    # Rows that are dealt out in turn go elsewhere when they arrive otherwise, unless Spark sorts them first.
    if not plan.conf().sortBeforeRepartition():
        yield "a repartition while spark.sql.execution.sortBeforeRepartition is off, which may lose and double rows"


def _is_inexact(expression: Any) -> bool:
    kind = _type(expression)
    return any(inexact in kind for inexact in ("FLOAT", "DOUBLE", "COLLATE"))


def _type(expression: Any) -> str:
    return str(expression.dataType().sql()).upper()


def _descend(expression: Any) -> Iterator[Any]:
    yield expression
    for child in _items(expression.children()):
        yield from _descend(child)


def _items(sequence: Any) -> list[Any]:
    """Return a Scala sequence as a list."""
    return [sequence.apply(position) for position in range(sequence.size())]


def _name(node: Any) -> str:
    """Return the plain class name of a node of the JVM; objects of Scala's end in a dollar sign."""
    return str(node.getClass().getName()).rsplit(".", 1)[-1].rsplit("$", 1)[0]


def _is_a(node: Any, kind: str) -> bool:
    return bool(is_instance_of(SparkContext._gateway, node, kind))
