"""A report says first that it is not private, in every form that it takes."""

import json
from collections.abc import Callable

from tests.check.made import fitting, plan_of
from vdr_spark.check import CheckReport
from vdr_spark.check.hints import Hint
from vdr_spark.config import ReleaseConfig

Small = Callable[..., ReleaseConfig]


def report_of(config: ReleaseConfig, *hints: Hint, **changes: object) -> CheckReport:
    plan = plan_of(config)
    return CheckReport(plan, fitting(plan, **changes), hints)


def test_every_form_says_that_it_is_not_private(small_config: Small) -> None:
    report = report_of(small_config())
    assert str(report).startswith("NOT PRIVATE.")
    assert "NOT PRIVATE." in report._repr_html_()
    assert report.as_dict()["private"] is False
    assert report.as_dict()["warning"].startswith("NOT PRIVATE.")


def test_the_figures(small_config: Small) -> None:
    text = str(report_of(small_config()))
    for words in (
        "read                10,000",
        "inside the box      8,000 (80.0 %)",
        "inside the period   7,000 (70.0 %)",
        "inside both         6,000 (60.0 %)",
        "ts                  0.0 % null, 0.0 % unreadable",
        "number              300",
        "median 10, 80th percentile 40, 99th percentile 40, most 40",
        "k = 20 keeps        n = 4,500 of 6,000 pings (75.0 %)",
        "10 would keep 50.0 %, 40 would keep 100.0 %",
        "measured            6,000; to two digits 6,000",
        "declared            6,000, 0.0 % more than the pings measured",
        "Nothing looks wrong.",
    ):
        assert words in text


def test_several_regions_and_an_estimated_total(small_config: Small) -> None:
    config = small_config("privacy={epsilon: 6, k: 20, estimate_total: {max_per_user: 40}}")
    text = str(report_of(config, by_region={"houston": 4000, "dallas": 2000}))
    assert "region dallas     2,000 (20.0 %)" in text
    assert "not: it is estimated" in text


def test_hints_decide_whether_it_is_fine(small_config: Small) -> None:
    worth_knowing = Hint("a", "A remark.", wrong=False)
    assert report_of(small_config(), worth_knowing).fine
    report = report_of(small_config(), worth_knowing, Hint("b", "A <mistake>."))
    assert not report.fine
    assert "  ! A <mistake>." in str(report)
    assert "  - A remark." in str(report)
    assert "&lt;mistake&gt;" in report._repr_html_()
    assert str(report).endswith("Something looks wrong.")


def test_programs_get_all_of_it(small_config: Small) -> None:
    told = json.loads(json.dumps(report_of(small_config()).as_dict()))
    assert told["pings_per_user"] == {"median": 10, "80th percentile": 40, "99th percentile": 40, "max": 40}
    assert (told["k"], told["kept"], told["users"], told["in_box_and_period"]) == (20, 4500, 300, 6000)
    assert told["total_pings"] == {"measured": 6000, "rounded": 6000, "declared": 6000}
    assert told["columns"]["lat"] == {"name": "lat", "kind": "double", "null": 0, "unreadable": 0}
