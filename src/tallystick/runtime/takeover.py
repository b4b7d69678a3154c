"""Taking over: a successor finishes the rest of a run that another controller began, and does not restart it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.runtime.drivers import Steps, drive
from tallystick.runtime.extraction import Extractor
from tallystick.runtime.handing import Handing
from tallystick.runtime.known import args_named, count_in, names_in, text_of, tool_named, typed
from tallystick.runtime.outcome import Finish
from tallystick.runtime.proposals import is_coroutine
from tallystick.runtime.replicas import Fork
from tallystick.runtime.successors import Successor
from tallystick.runtime.takeover_result import Takeover
from tallystick.runtime.takeover_steps import EXPLICIT, Asked, Tenancy
from tallystick.view import View

if TYPE_CHECKING:
    from tallystick.runtime.closing import Closing
    from tallystick.runtime.turns import Turns

T = TypeVar("T")
ATTEMPTS = 3
"""Proposals a successor may hand in within one tenure, by default."""
_TRIGGERS = "`explicit`, or rules of `tallystick.gates.residual`: `Supported()`, `ErrorStreak(3)`, `Spent(calls=40)`"


class TakingOver(Handing):
    """The part of a `Run` that lets a successor finish the rest."""

    _closing: Closing
    _turns: Turns

    def take_over(
        self,
        successor: Successor,
        *,
        name: str = "successor",
        trigger: str | Any | Iterable[Any] = EXPLICIT,
        replica: Fork | None = None,
        attempts: int = ATTEMPTS,
        allow: Iterable[str] | str = (),
        free: Mapping[str, Iterable[str] | str] | None = None,
        extract: Extractor | None = None,
        finish: bool = True,
    ) -> Takeover:
        """Let a successor finish the rest of this run: what is fixed stays, what is owed is done, nothing twice.

        What is fixed and what is owed is frozen first; the successor then proposes everything it will do; only a
        proposal that is admissible as a whole runs, call by call through `call`, with values of live receipts. While
        it lasts, no other write runs in this run.

        Args:
            successor: gets a `Brief` and returns a proposal (a mapping, JSON text or bytes in the published schema), or
                None to decline.
            name: who it is, for the record.
            trigger: `explicit`, or frontier rules (`gates.residual.Supported`, `ErrorStreak`, `Spent`) of which one
                must fire.
            replica: makes a forked world to try calls in (`deepcopy_replica`, `sqlite_replica`); None: the proposal is
                written symbolically.
            attempts: proposals it may hand in, all against the same frozen contract.
            allow: tools whose effects are admissible on the way although no obligation asks for them.
            free: tool → arguments whose text needs no source: a note, a summary.
            extract: finds what is owed beyond the task's own obligations (`runtime.extraction`).
            finish: propose to stop when the remainder is done; False leaves the run open.

        Raises:
            InputError: a setting is wrong, or the successor is a coroutine function (use `atake_over`).
        """
        asked = self._asked(successor, name, trigger, replica, attempts, allow, free, extract, finish=finish)
        for what, fn in (("successor", successor), ("extract", extract)):
            if _is_async(fn):
                raise InputError(f"`{what}` is a coroutine function", where=what, fix="await `atake_over`")
        return drive(Tenancy(run=self._as_run(), asked=asked).steps())

    async def atake_over(
        self,
        successor: Successor,
        *,
        name: str = "successor",
        trigger: str | Any | Iterable[Any] = EXPLICIT,
        replica: Fork | None = None,
        attempts: int = ATTEMPTS,
        allow: Iterable[str] | str = (),
        free: Mapping[str, Iterable[str] | str] | None = None,
        extract: Extractor | None = None,
        finish: bool = True,
    ) -> Takeover:
        """As `take_over`, without blocking the event loop; the successor and the extractor may be asynchronous."""
        asked = self._asked(successor, name, trigger, replica, attempts, allow, free, extract, finish=finish)
        return await self._adrive(Tenancy(run=self._as_run(), asked=asked).steps())

    # ------------------------------------------------------------------ inside

    def _as_run(self) -> Any:
        return self  # a `TakingOver` is always a `Run`

    def _asked(
        self,
        successor: object,
        name: str,
        trigger: object,
        replica: object,
        attempts: int,
        allow: Iterable[str] | str,
        free: Mapping[str, Iterable[str] | str] | None,
        extract: object,
        *,
        finish: bool,
    ) -> Asked:
        for what, fn in (("successor", successor), ("replica", replica), ("extract", extract)):
            if not callable(fn) and (fn is not None or what == "successor"):
                raise InputError(f"a {type(fn).__name__} cannot be called", where=what, fix="a function")
        typed("finish", finish, bool)
        allowed = names_in("tool", allow, "take_over: allow") if allow else ()
        for tool in allowed:
            tool_named(self._contract, tool, "take_over: allow")
        return Asked(
            successor=successor,  # type: ignore[arg-type]  # it can be called; what it returns is judged
            name=text_of("name", name, "take_over"),
            rules=_rules(trigger),
            fork=replica,  # type: ignore[arg-type]
            attempts=count_in("attempts", attempts),
            allow=allowed,
            free=_free(self._contract, free or {}),
            extract=extract,  # type: ignore[arg-type]
            finish=finish,
        )

    def _finish_in_tenure(self, text: str, claims: Mapping[str, Any], tenure: str) -> Steps[Finish]:
        """Propose to stop on a tenure's behalf."""
        if not self._turns.owned:
            return self._closing.stopping(tenure, self._turns.signalled(text, truncated=False))
        return self._closing.finish(text, claims, "acted", declared_by="agent", truncated=False, tenure=tenure)

    def _fresh_view(self) -> View:
        """Return a view of its own, folded from the ledger: whoever gets it can change nothing here."""
        journal = self._journal
        view = View(self._contract, journal.view.task, run=journal.run)
        for sealed in journal.store.events(journal.run):
            view.apply(sealed)
        return view


def _rules(trigger: object) -> tuple[Any, ...]:
    if isinstance(trigger, str):
        if trigger != EXPLICIT:
            raise InputError(f"unknown trigger `{trigger[:60]}`", where="take_over: trigger", fix=_TRIGGERS)
        return ()
    rules = tuple(trigger) if isinstance(trigger, (list, tuple, set, frozenset)) else (trigger,)
    for rule in rules:
        if isinstance(rule, type):
            raise InputError(f"`{rule.__name__}` is a class, no rule", where="take_over: trigger", fix=_TRIGGERS)
        if not callable(getattr(rule, "fires", None)):
            raise InputError(f"a {type(rule).__name__} is no frontier rule", where="take_over: trigger", fix=_TRIGGERS)
    if not rules:
        raise InputError("no frontier rule is given", where="take_over: trigger", fix=_TRIGGERS)
    return rules


def _free(contract: Contract, given: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(given, Mapping):
        raise InputError(
            f"a {type(given).__name__} is no mapping", where="take_over: free", fix="tool → argument names"
        )
    found: list[tuple[str, str]] = []
    for tool, names in given.items():
        known = contract.tools[tool_named(contract, tool, "take_over: free")]
        stated = names_in("argument", names, "take_over: free")
        args_named([known], dict.fromkeys(stated), "take_over: free")
        found += [(known.name, name) for name in stated]
    return tuple(found)


def _is_async(fn: object) -> bool:
    if not callable(fn):
        return False
    return is_coroutine(fn) or inspect.iscoroutinefunction(type(fn).__call__)
