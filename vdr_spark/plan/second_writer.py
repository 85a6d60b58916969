"""Could a second process get in, as far as the names of places tell?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vdr_spark.storage.paths import holds_locks
from vdr_spark.storage.store_access import scheme_of

if TYPE_CHECKING:
    from vdr_spark.plan.plan import Plan

_DECLARE = "If no two processes ever write there at once, say so with `single_writer: true`"


def find_second_writer(plan: Plan) -> str | None:
    """Return in words why a second process could get in; None where it cannot, or a person says that there is none."""
    if plan.config.single_writer:
        return None
    for setting, place in plan.shared_places:
        if not isinstance(place, str) or holds_locks(place):
            continue
        if scheme_of(place) is None:
            return (
                f"{setting}: must be on a disk of this machine, where a second process can be kept out by a lock, or "
                "in a store that creates an object once, whoever tries (s3a://, abfss://, gs://), "
                f"not at {place}. {_DECLARE}"
            )
        if plan.output.schema is not None:
            return (
                f"{setting}: must be on a disk of this machine where tables have names (tables: {plan.output.schema}), "
                f"because their catalog commits to them and not we, not at {place}. {_DECLARE}"
            )
    ledger, output = plan.ledger.table, plan.output.root
    if isinstance(ledger, str) and scheme_of(ledger) is not None and holds_locks(output):
        return (
            f"output: must be in a store, as the ledger is ({ledger}), not on a disk of this machine at {output}: "
            f"another machine may have such a folder, too, and draw at the same time. {_DECLARE}"
        )
    return None
