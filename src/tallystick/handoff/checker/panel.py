"""A panel of judges beside the rules: k callables label an artifact, blind, and their labels are compared.

Judges are never asked by the checker itself. Source: constraint weakening, appendix F (tables 15 to 18). The paper names
three label sources without defining them; the definitions here are *reconstructed*, see `Panel.deactivated`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Literal, get_args

from tallystick.errors import InputError
from tallystick.handoff.checker.concordance import Concordance, concordance
from tallystick.handoff.checker.profile import Profile

Source = Literal["majority", "conservative", "contract"]
SOURCES: Final = get_args(Source)
COMPONENTS: Final = ("status", "prerequisite", "authority", "fallback", "actionable")
"""What a judge answers: the four fields, and whether the artifact is a blocker one can act on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One judge's answer for one artifact; None is "ambiguous"."""

    status: bool | None
    prerequisite: bool | None
    authority: bool | None
    fallback: bool | None
    actionable: bool | None


AMBIGUOUS: Final = Vote(status=None, prerequisite=None, authority=None, fallback=None, actionable=None)
Judge = Callable[[Mapping[str, Any], str], Vote]
"""A judge sees the task's record and the artifact, and nothing else."""


@dataclass(frozen=True, slots=True)
class Pairwise:
    """Two judges' agreement on a component, over the pairs in which both answered, pooled over pairs of judges.

    Attributes:
        agreement, kappa: None where no pair of answers exists; kappa is the mean over pairs of judges.
        ambiguous: share of all answers that were ambiguous.
    """

    agreement: float | None
    kappa: float | None
    ambiguous: float


@dataclass(frozen=True, slots=True)
class Panel:
    """What the judges said: `votes[judge][n]` is about artifact `n`. `failed` counts the judges' own faults."""

    votes: Mapping[str, Sequence[Vote]]
    failed: Mapping[str, int]

    def deactivated(self, source: Source = "majority", *, without: str | None = None) -> tuple[bool | None, ...]:
        """Return each artifact's deactivation label; None where the votes do not decide.

        majority: more judges find it no actionable blocker than find it one; a tie decides nothing. conservative: a tie
        or an ambiguous answer counts against the artifact. contract: a majority finds at least one of the four fields,
        or actionability, missing.

        Raises:
            InputError: no such source, or no such judge.
        """
        if source not in SOURCES:
            raise InputError(f"`{source}` is no source of labels", where="source", fix=f"one of {', '.join(SOURCES)}")
        if without is not None and without not in self.votes:
            raise InputError(f"`{without}` is no judge", where="without", fix=f"one of {', '.join(self.votes)}")
        kept = [v for name, v in self.votes.items() if name != without]
        return tuple(_label(source, rows) for rows in zip(*kept, strict=True))

    def leave_one_out(self, source: Source = "majority") -> dict[str, tuple[bool | None, ...]]:
        """Return the labels without each judge in turn."""
        return {name: self.deactivated(source, without=name) for name in self.votes}

    def pairwise(self) -> dict[str, Pairwise]:
        """Return the judges' agreement among themselves, by component (table 17)."""
        return {component: self._pairwise(component) for component in COMPONENTS}

    def _pairwise(self, component: str) -> Pairwise:
        answers = {name: [getattr(v, component) for v in votes] for name, votes in self.votes.items()}
        every = [a for one in answers.values() for a in one]
        found: list[Concordance] = []
        for a, b in combinations(answers.values(), 2):
            both = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
            if both:
                found.append(concordance([x for x, _ in both], [y for _, y in both]))
        n = sum(f.n for f in found)
        return Pairwise(
            agreement=sum(f.agreement * f.n for f in found) / n if n else None,
            kappa=sum(f.kappa for f in found) / len(found) if found else None,
            ambiguous=sum(a is None for a in every) / len(every) if every else 0.0,
        )

    def against(self, profiles: Sequence[Profile]) -> dict[str, Concordance | None]:
        """Compare the judges' majority with the rules, by component (table 18); None where no majority decides.

        `actionable` is compared with P of the plain reading. The rules are no ground truth here.
        """
        rules: dict[str, list[bool]] = {
            "status": [p.r_s for p in profiles], "prerequisite": [p.r_q for p in profiles],
            "authority": [p.r_o for p in profiles], "fallback": [p.r_f for p in profiles],
            "actionable": [p.plain.p for p in profiles],
        }  # fmt: skip
        out: dict[str, Concordance | None] = {}
        for component, coded in rules.items():
            said = [_majority([getattr(v, component) for v in row]) for row in zip(*self.votes.values(), strict=True)]
            if len(said) != len(coded):
                raise InputError(
                    f"{len(coded)} profiles for {len(said)} artifacts", where="profiles", fix="one profile an artifact"
                )
            both = [(a, b) for a, b in zip(said, coded, strict=True) if a is not None]
            out[component] = concordance([a for a, _ in both], [b for _, b in both]) if both else None
        return out


def panel(judges: Mapping[str, Judge], artifacts: Sequence[tuple[Mapping[str, Any], str]]) -> Panel:
    """Ask every judge about every artifact.

    A judge that raises, or returns no vote, is ambiguous there and is counted in `failed`: a fault is no opinion.

    Raises:
        InputError: there are no judges or no artifacts.
    """
    if not judges or not artifacts:
        raise InputError("a panel needs judges and artifacts", where="panel", fix="at least one of each")
    votes: dict[str, list[Vote]] = {name: [] for name in judges}
    failed = dict.fromkeys(judges, 0)
    for name, judge in judges.items():
        for about, artifact in artifacts:
            try:
                vote = judge(about, artifact)
            except Exception:  # noqa: BLE001 - somebody else's code; what it did is counted and reported
                vote = None
            if not isinstance(vote, Vote):
                failed[name] += 1
                vote = AMBIGUOUS
            votes[name].append(vote)
    return Panel(votes, failed)


def _majority(answers: Sequence[bool | None]) -> bool | None:
    yes, no = sum(a is True for a in answers), sum(a is False for a in answers)
    return None if yes == no else yes > no


def _label(source: Source, votes: Sequence[Vote]) -> bool | None:
    if source == "contract":
        broken = [_broken(v) for v in votes]
        return _majority(broken)
    found = _majority([v.actionable for v in votes])
    if source == "majority":
        return None if found is None else not found
    for_it = sum(v.actionable is True for v in votes)
    return for_it * 2 <= len(votes)


def _broken(vote: Vote) -> bool | None:
    answers = [getattr(vote, c) for c in COMPONENTS]
    if any(a is False for a in answers):
        return True
    return None if any(a is None for a in answers) else False
