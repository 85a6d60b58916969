"""What is promised is told in one wording: to whom, how strongly, and what several releases mean."""

from fractions import Fraction

import pytest

from vdr_spark.errors import DamagedTable
from vdr_spark.promise import Promise, Unit


def test_a_pure_promise_has_no_delta() -> None:
    promise = Promise(Fraction(1, 3))
    assert promise.sentence() == (
        "Adding or removing one person with their whole history changes the probability of any possible release by at "
        "most a factor of e^epsilon, with epsilon = 1/3."
    )
    assert (promise.parameters, promise.figure, promise.beyond) == ("epsilon 1/3", "1/3", "")


def test_a_promise_at_a_delta_says_so_and_is_a_decimal() -> None:
    promise = Promise(Fraction("6.475"), Fraction(1, 10**9), Unit.USER_WEEK)
    assert promise.sentence().startswith("Adding or removing one person's pings of one week changes")
    assert promise.sentence().endswith("with epsilon = 6.475, and by delta = 1e-9 beyond that.")
    assert promise.parameters == "epsilon 6.475 at delta 1e-9"


@pytest.mark.parametrize("statement", [{}, {"exact": {}}, {"exact": {"privacy_unit": "user", "epsilon": "6"}}])
def test_a_statement_from_before_promises_pure_epsilon_to_users(statement: dict[str, object]) -> None:
    assert Promise.read(Fraction(6), statement) == Promise(Fraction(6), None, Unit.USER)


def test_a_statement_is_read_back() -> None:
    exact = {"privacy_unit": "user_day", "delta": "1/1000000000"}
    found = Promise.read(Fraction("6.475"), {"exact": exact})
    assert found == Promise(Fraction("6.475"), Fraction(1, 10**9), Unit.USER_DAY)


@pytest.mark.parametrize("unit", [Unit.USER_DAY, Unit.USER_WEEK])
def test_a_unit_of_time_says_what_it_does_not_promise(unit: Unit) -> None:
    assert f"all the pings of one user within one calendar {unit.stretch}" in unit.adjacency
    for words in ("does not protect a user over several", "where somebody lives", "the sum of all releases only"):
        assert words in unit.over_time
    assert unit.level == f"user-{unit.stretch}"


def test_the_user_s_own_unit_says_that_everything_adds_up() -> None:
    assert Unit.USER.adjacency == "two data sets that differ by all the pings of one user, added or removed"
    assert "the sum, which the ledger keeps, protects all that a user did in all of them" in Unit.USER.over_time


def test_a_unit_that_nobody_knows_is_refused_by_name() -> None:
    with pytest.raises(DamagedTable, match="says privacy_unit 'ping', and this software knows user, user_day"):
        Promise.read(Fraction(6), {"exact": {"privacy_unit": "ping"}})
