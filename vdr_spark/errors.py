"""Every error a user can cause, under one base class.

A message names the parameter, the rule, the value received and what to do; the command line prints it
without a stack trace. Anything that is not a `VdrError` is a defect of ours and keeps its trace.
"""


class VdrError(Exception):
    """Base class of all errors that are the user's to mend."""


class InvalidConfig(VdrError):
    """A configuration file, or an override, that breaks a rule."""


class InvalidInput(VdrError):
    """Pings that cannot be read: wrong path, wrong schema, wrong format."""


class EnvironmentProblem(VdrError):
    """The machine lacks something: Java, a jar, a GPU, a package."""


class BudgetExceeded(VdrError):
    """The ledger refuses a release that would overspend its dataset's budget."""


class Declined(VdrError):
    """A person was asked whether to draw once more over the same people, and said no."""


class LedgerConflict(VdrError):
    """The ledger and the configuration, or the stored tensor, contradict each other."""


class StageMissing(VdrError):
    """A stage was asked for whose input no earlier stage has produced yet."""


class SignalTooWeak(VdrError):
    """A release whose noisy sums stand out from their noise by less than its configuration asks for."""


class DamagedTable(VdrError):
    """A Delta table that cannot be read as it was written: files are missing, cut off, or changed."""


class InvalidQuery(VdrError):
    """A query that does not fit the release: outside its box or period, without an answer, or of none in particular."""


class InvalidExport(VdrError):
    """An export that cannot be written: an unknown format, a place that is taken, a disk that is full."""


class JobFailed(Exception):
    """A defect, ours or Spark's, in a job over people's data: told without the words that might quote them."""


class CheckpointMismatch(VdrError):
    """Model weights that are damaged or belong to another model."""
