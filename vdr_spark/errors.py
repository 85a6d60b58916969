"""Every error a user can cause, under one base class.

A message names the parameter, the rule, the value received and what to do; the command line prints it
without a stack trace. Anything that is not a `VdrError` is a defect of ours and keeps its trace.

Every class carries the exit code that `vdr` ends with, so that a scheduler knows what to do: wait, or call somebody.
The codes are stable; docs/running.md has them in a table.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What `vdr` ends with."""

    DONE = 0
    DEFECT = 1  # of ours, or of Spark's: not expected, with its trace
    MISTAKE = 2  # in the configuration, the input or the command, or a refusal: the same again will not do
    BUDGET = 3  # does not allow it
    ENVIRONMENT = 4  # lacks something: to be mended, then the same again
    BUSY = 5  # another process is at it: later the same again
    NOT_RIGHT = 6  # what was looked at, by `vdr audit` or `vdr check`
    CONTRADICTION = 7  # in what is stored: somebody has to look before anything goes on
    INTERRUPTED = 130  # as shells expect after Ctrl-C
    UNREAD = 141  # as they expect where whoever read the output has left


class VdrError(Exception):
    """Base class of all errors that are the user's to mend."""

    exit_code = ExitCode.MISTAKE


class InvalidConfig(VdrError):
    """A configuration file, or an override, that breaks a rule."""


class InvalidInput(VdrError):
    """Pings that cannot be read: wrong path, wrong schema, wrong format."""


class EnvironmentProblem(VdrError):
    """The machine lacks something: Java, a jar, a GPU, a package."""

    exit_code = ExitCode.ENVIRONMENT


class DiskFull(EnvironmentProblem):
    """A disk is full, or a quota used up: made room for, the same command goes on."""


class BudgetExceeded(VdrError):
    """The ledger refuses a release that would overspend its dataset's budget."""

    exit_code = ExitCode.BUDGET


class OtherCurrency(VdrError):
    """A price, a grant or a cap in another currency than the dataset's budget is kept in, or has no price in it."""


class Declined(VdrError):
    """A person was asked before a further draw over the same people, or before a withdrawal, and said no."""


class LedgerConflict(VdrError):
    """The ledger and the configuration, or the stored tensor, contradict each other."""

    exit_code = ExitCode.CONTRADICTION


class Overtaken(LedgerConflict):
    """Another process was first. Nothing was spent twice, and the same command again uses what that one drew."""

    exit_code = ExitCode.BUSY


class Busy(VdrError):
    """Another process is doing the same thing right now."""

    exit_code = ExitCode.BUSY


class StageMissing(VdrError):
    """A stage was asked for whose input no earlier stage has produced yet."""


class SignalTooWeak(VdrError):
    """A release whose noisy sums stand out from their noise by less than its configuration asks for."""


class DamagedTable(VdrError):
    """A Delta table that cannot be read as it was written: files are missing, cut off, or changed."""

    exit_code = ExitCode.CONTRADICTION


class OtherVersion(VdrError):
    """A Delta table of a newer version than this software knows, or of one that cannot be brought up to date."""

    exit_code = ExitCode.CONTRADICTION


class Withdrawn(VdrError):
    """A release that was withdrawn, and is asked for or about to be published again."""


class InvalidWithdrawal(VdrError):
    """A withdrawal without a reason, or one that nobody has confirmed."""


class InvalidQuery(VdrError):
    """A query that does not fit the release: outside its box or period, without an answer, or of none in particular."""


class InvalidExport(VdrError):
    """An export that cannot be written: an unknown format, a place that is taken, a disk that is full."""


class JobFailed(Exception):
    """A defect, ours or Spark's, in a job over people's data: told without the words that might quote them."""


class CheckpointMismatch(VdrError):
    """Model weights that are damaged or belong to another model."""

    exit_code = ExitCode.CONTRADICTION
