"""Every exception tallystick raises on purpose.

A refusal is not an error: gates return `Decision` values. Exceptions are for misuse and bad input, and each carries
what is wrong, where, and what would be right, so the command line can print one clear line and exit with 2.
"""

from __future__ import annotations

from dataclasses import dataclass


class TallystickError(Exception):
    """Base of all errors raised on purpose.

    Attributes:
        message: what is wrong, in lower case, user input in backticks.
        where: file, line, pointer or name the message speaks about, or `None`.
        fix: what would be right, or `None`.
    """

    def __init__(self, message: str, *, where: str | None = None, fix: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text} (fix: {self.fix})" if self.fix else text


class InputError(TallystickError):
    """A file, argument or value given by the user cannot be used. The command line exits with 2."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One invalid place: 1-based line and column (0 where there is no text), JSON Pointer, sentence, fix."""

    line: int
    column: int
    pointer: str
    message: str
    fix: str | None = None

    def __str__(self) -> str:
        place = f"{self.line}:{self.column}: " if self.line else ""
        text = f"{place}{self.pointer or '/'}: {self.message}"
        return f"{text} (fix: {self.fix})" if self.fix else text


class ContractError(InputError):
    """A contract or task is invalid. Carries every problem found, not only the first; `what` says in which."""

    def __init__(self, problems: tuple[Problem, ...], *, source: str | None = None, what: str = "contract") -> None:
        self.problems = problems
        self.source = source
        self.what = what
        head = f"{len(problems)} problem{'' if len(problems) == 1 else 's'} in the {what}"
        super().__init__("\n".join([head, *(f"  {p}" for p in problems)]), where=source)


class ExpressionError(TallystickError):
    """An expression could not be evaluated: a missing name, a type mismatch, overflow, division by zero.

    In a gate this always means the requirement is not met; an error is never an admit.
    """


class LedgerError(TallystickError):
    """The ledger cannot append or read. The guard turns it into a refusal: nothing runs unrecorded."""


class LeaseHeldError(LedgerError):
    """Another live writer holds the run's lease."""


class StaleWriterError(LedgerError):
    """The store refused an append because the writer's fencing epoch is not the newest."""


class DamagedError(LedgerError):
    """What was recorded is damaged, cut off or changed. The command line exits with 1, as where it does not verify."""


class ForgedEventError(DamagedError):
    """Stored bytes do not match their digest or chain."""
