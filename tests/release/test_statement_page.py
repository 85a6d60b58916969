"""The page for people: nothing from elsewhere, nothing that could run, and the alarm where nobody is protected."""

from collections.abc import Callable

import pytest

from tests.release.test_statement import statement
from vdr_spark.config import ReleaseConfig
from vdr_spark.release.statement_page import statement_page

Small = Callable[..., ReleaseConfig]


def test_everything_of_the_statement_is_on_it(small_config: Small) -> None:
    made = statement(small_config())
    page = statement_page(made)
    for words in ("ε = 6", "Pure DP", "one user, added or removed", "temporal+fusion", "ab" * 32, "not stated"):
        assert words in page
    for item in made["questions"]:
        assert str(item["question"]).split("?")[0][:20] in page
    assert "http" not in page
    assert "<script" not in page
    assert 'class="alarm"' not in page


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>'])
def test_what_people_wrote_cannot_run(small_config: Small, text: str) -> None:
    page = statement_page(statement(small_config().model_copy(update={"about": _about(small_config, text)})))
    assert text not in page
    assert "<img" not in page


def _about(small_config: Small, text: str) -> object:
    return small_config().about.model_copy(update={"curator": text})


def test_a_seeded_release_cannot_look_protected(small_config: Small) -> None:
    page = statement_page(statement(small_config("privacy.test_seed=1")))
    assert 'class="alarm"' in page
    assert "UNPROTECTED" in page
    assert 'class="promise"' not in page


def test_an_alarm_stands_above_a_promise_that_is_worth_nothing(small_config: Small) -> None:
    weak = ("privacy.epsilon=51", "privacy.accept_weak_promise=true", "privacy.budget=51")
    page = statement_page(statement(small_config(*weak)))
    assert page.index("no protection worth the name") < page.index('class="promise"')
