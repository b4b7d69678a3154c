"""The rules, in the order in which they are applied. Each reads a case and adds findings; none knows a contract."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tallystick.audit import rules_pairing, rules_turns, rules_values, rules_words, rules_writes
from tallystick.audit.case import Case

ALWAYS: Final[tuple[Callable[[Case], None], ...]] = (
    rules_pairing.damage,
    rules_pairing.unanswered,
    rules_pairing.truncated,
    rules_turns.silent,
    rules_writes.calls_in_circles,
    rules_values.answer,
    rules_words.claims,
)
"""Rules for every trace."""
OF_WRITES: Final[tuple[Callable[[Case], None], ...]] = (
    rules_writes.repeated,
    rules_writes.rejected_again,
    rules_writes.retried_in_doubt,
    rules_writes.previews,
    rules_writes.results,
    rules_values.from_nowhere,
    rules_words.regrets,
)
"""Rules that find nothing where no tool that writes was called."""
