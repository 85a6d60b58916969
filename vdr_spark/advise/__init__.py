"""Advice on k, or on the norm: what error each of them may be expected to give, from public knowledge only."""

from vdr_spark.advise.advice import Advice, advise
from vdr_spark.advise.sources import Declared, Earlier, Known

__all__ = ["Advice", "Declared", "Earlier", "Known", "advise"]
