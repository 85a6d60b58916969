"""What is asked of a ledger and what is written there: draws, grants, caps, entries and their chain of hashes. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fractions import Fraction

from vdr_spark.conversion import describe_price
from vdr_spark.price import Currency, Price


class State(StrEnum):
    GRANTED = "granted"
    CAPPED = "capped"
    RESERVED = "reserved"
    SPENT = "spent"
    REFUSED = "refused"


@dataclass(frozen=True)
class Draw:
    """One drawing of noise over a dataset, and its price."""

    draw_id: str
    price: Price
    purpose: str  # cells, total or sizes
    identity_sha256: str  # of everything that it depends on; its id shows the beginning


@dataclass(frozen=True)
class Grant:
    """What a dataset is given to spend."""

    price: Price
    delta: Fraction | None = None  # of rho: at which people are told an epsilon of all that is spent of it

    def __str__(self) -> str:
        return str(self.price.amount) if self.delta is None else describe_price(self.price, self.delta)


@dataclass(frozen=True)
class Cap:
    """At most so much within any stretch of `window_seconds`."""

    price: Price
    window_seconds: int


@dataclass(frozen=True)
class Limit:
    """What some draws of a dataset may cost together: those of a window, or of all windows of a year."""

    what: str  # in words
    price: Price
    names: tuple[str, ...]  # of releases: the ids of their draws begin with these

    def covers(self, draw_id: str) -> bool:
        return draw_id.startswith(tuple(f"{name}-" for name in self.names))


@dataclass(frozen=True)
class BudgetRequest:
    """What a release asks of the ledger: all of its draws or none."""

    dataset: str
    draws: tuple[Draw, ...]
    opening: Grant  # made where the ledger does not know the dataset yet
    opening_cap: Cap | None  # set with it
    configuration_hash: str
    budget_currency: Currency | None = None  # in which people say that the dataset's budget is kept; None: not said
    limits: tuple[Limit, ...] = ()  # beside the dataset's budget: of a series, by its schedule


@dataclass(frozen=True)
class Posting:
    """What is to be written about a draw, or, without one, about the dataset's budget."""

    state: State
    price: Price
    draw_id: str = ""
    purpose: str = ""
    window_seconds: int | None = None  # of a cap
    tensor_sha256: str = ""  # of a spent draw: of the noisy numbers that were stored
    identity_sha256: str = ""  # of a draw
    delta: Fraction | None = None  # of a grant of rho

    @classmethod
    def about(cls, draw: Draw, state: State, tensor_sha256: str = "") -> Posting:
        return cls(
            state,
            draw.price,
            draw.draw_id,
            draw.purpose,
            tensor_sha256=tensor_sha256,
            identity_sha256=draw.identity_sha256,
        )

    def enter(self, sequence: int, dataset: str, recorded_at: datetime, configuration_hash: str) -> Entry:
        """Return it as an entry of the ledger that has no hash yet."""
        amount, currency = self.price.amount, self.price.currency
        rest = {name: value for name, value in vars(self).items() if name != "price"}
        return Entry(
            sequence=sequence,
            dataset=dataset,
            recorded_at=recorded_at,
            configuration_hash=configuration_hash,
            entry_hash="",
            epsilon=amount if currency is Currency.EPSILON else None,
            rho=amount if currency is Currency.RHO else None,
            **rest,
        )


@dataclass(frozen=True)
class Entry:
    """One row of the ledger: of epsilon and rho it has one. What stands last came later, and older ledgers lack it."""

    sequence: int
    dataset: str
    draw_id: str
    state: State
    epsilon: Fraction | None
    recorded_at: datetime
    configuration_hash: str
    entry_hash: str
    purpose: str
    window_seconds: int | None
    tensor_sha256: str
    identity_sha256: str
    rho: Fraction | None = None
    delta: Fraction | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise ValueError(f"entry {self.sequence} of a ledger must have either an epsilon or a rho")

    @property
    def price(self) -> Price:
        """What was granted, allowed within a window, or paid."""
        if self.epsilon is not None:
            return Price.epsilon(self.epsilon)
        assert self.rho is not None
        return Price.rho(self.rho)

    def hash_after(self, previous: str) -> str:
        """Return the chain's link: a hash of everything in this entry and of the hash of the entry before.

        What came later is hashed with its name where it is there. So an entry of an older ledger has the hash that it
        always had, and none can be given a rho or a delta, or lose it, without another hash.
        """
        own = [str(getattr(self, name)) for name in _HASHED]
        later = [f"{name}={value}" for name in _HASHED_LATER if (value := getattr(self, name)) is not None]
        return hashlib.sha256("\x1f".join([previous, *own, *later]).encode()).hexdigest()


# In this order: what an entry is known by for ever.
_HASHED = (
    "sequence",
    "dataset",
    "draw_id",
    "state",
    "epsilon",
    "recorded_at",
    "configuration_hash",
    "purpose",
    "window_seconds",
    "tensor_sha256",
    "identity_sha256",
)
_HASHED_LATER = ("rho", "delta")
