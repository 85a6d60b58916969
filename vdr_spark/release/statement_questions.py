"""The answers of a statement to what NIST SP 800-226 asks of a claim of differential privacy."""

from __future__ import annotations

from vdr_spark.config import ReleaseConfig
from vdr_spark.epsilon import GOOD_PRACTICE, find_weakness
from vdr_spark.plan import ReleasePlan
from vdr_spark.plan.series_promise import describe_series
from vdr_spark.promise import Promise
from vdr_spark.release.statement_parts import UNPROTECTED, Published, describe_bounding


def answer_questions(release: ReleasePlan, published: Published) -> list[dict[str, str]]:
    """Answer what NIST SP 800-226 would have a reader ask, from the top of its pyramid down."""
    config = release.config
    promise = config.privacy.promise
    strength = find_weakness(promise.epsilon, promise.delta) or f"below {GOOD_PRACTICE}, as is good practice."
    parameter = f"{_describe_parameter(config)}. {strength[0].upper()}{strength[1:]}"
    bars = "Each cell has an error bar." if published.has_error_bars else "Cells have no error bars."
    declared = "No, provided that the declared number of pings is public. See unprotected quantities."
    answers = {
        "What is the privacy parameter, and is it small enough?": parameter
        if config.privacy.protected
        else UNPROTECTED,
        "What is the unit of privacy?": f"The user with all pings {_part_of_time(promise)}: {promise.unit.adjacency}. "
        f"{promise.unit.over_time}",
        **_ask_about_series(config),
        "What else was released about the same people?": "The ledger knows; see composition. Releases under another "
        "dataset name, or by others, are not counted.",
        "Is the mechanism right, and free of floating-point leaks?": "Noise and counts are integers; the sampler "
        "compares random bits with exact thresholds. Tests audit the whole job, and broken variants of it.",
        "Is the contribution of a user really bounded?": describe_bounding(release),
        "Is anything taken from the data without being paid for?": "No. See unprotected quantities."
        if config.privacy.estimate_total
        else declared,
        "Which biases does it introduce?": "Bounding underrates people with many pings, and the places they go to. "
        f"Denoising draws rare spots towards what is expected of them. {bars}",
        "Whom must one trust?": "The curator and the machines: the central model.",
        "Which side channels remain?": "How long the job takes, Spark's own logs and user interface, and what the "
        "operator sees. Publish tables, not logs.",
        "How are pings secured and accessed?": "Not by this software, but for its temporary files, which are "
        "encrypted unless the operator has switched that off. No exact number is written to any table.",
        "How were the pings collected, and did people agree?": "Not known to this software; ask the curator.",
    }
    return [{"question": question, "answer": answer} for question, answer in answers.items()]


def _ask_about_series(config: ReleaseConfig) -> dict[str, str]:
    sentences = describe_series(config)
    return {"What does the promise mean over the whole series?": " ".join(sentences)} if sentences else {}


def _describe_parameter(config: ReleaseConfig) -> str:
    privacy, promise = config.privacy, config.privacy.promise
    if privacy.rho is None:
        return f"epsilon = {privacy.epsilon}, pure"
    return f"rho = {privacy.rho}, zero-concentrated; as {promise.parameters}, rounded up"


def _part_of_time(promise: Promise) -> str:
    return "of the period" if promise.unit.stretch is None else f"of one {promise.unit.stretch}"
