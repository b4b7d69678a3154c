"""The profile of an artifact and the decision rule of appendix A.3: P, D, U and C are computed, never judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

from tallystick.errors import InputError

Trajectory = Literal["static", "dynamic"]
Block = Literal["complete", "partial", "absent"]
Field = Literal["status", "prerequisite", "authority", "fallback", "force"]

TRAJECTORIES: Final = get_args(Trajectory)
BLOCKS: Final = get_args(Block)
ACTIONABLE: Final = 0.75
"""Least actionability of a preserved artifact, when a score is supplied (A.3)."""
RETAINED: Final = 0.60
"""Least retention of a preserved static artifact, when a score is available (A.3)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the decision rule makes of a profile. `p` and `d` exclude each other; `u` is the rest; `c` stands apart."""

    p: bool
    d: bool
    c: bool

    @property
    def u(self) -> bool:
        """Neither rule is met at the available resolution (equation 4)."""
        return not self.p and not self.d


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing the text says about one field: the words, and what they do to it.

    Attributes:
        field: the field it speaks to; `force` for what releases or softens the stop.
        kept: whether it keeps the field.
        quote: the words of the artifact; "" where the finding is that nothing says it.
        why: the reason, in words.
    """

    field: Field
    kept: bool
    quote: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """An artifact's binding-state profile and what the rule computes from it.

    Attributes:
        r_s, r_q, r_o, r_f: whether status, prerequisite, authority and fallback are retained (Table 5).
        preserves_as_blocker: net force of the whole text.
        caveat_or_later_check_or_omission: the stop became a caveat or a later check, or was left out.
        actionability, retention: scores from 0 to 1, when somebody supplied them.
        trajectory: picks the rule.
        block: what is known of a carrier block beside the words, from `tallystick.handoff.compare`.
        findings: why, field by field.
    """

    r_s: bool
    r_q: bool
    r_o: bool
    r_f: bool
    preserves_as_blocker: bool
    caveat_or_later_check_or_omission: bool
    trajectory: Trajectory
    actionability: float | None = None
    retention: float | None = None
    block: Block = "absent"
    findings: tuple[Finding, ...] = ()

    @property
    def plain(self) -> Outcome:
        """The paper's reading: A.3 over the words, whatever block is beside them."""
        kept = self.preserves_as_blocker and self.r_f and not self.caveat_or_later_check_or_omission
        p = kept and (self.actionability is None or self.actionability >= ACTIONABLE)
        below = False
        if self.trajectory == "static":
            below = self.retention is not None and self.retention < RETAINED
            p = p and self.r_q and not below
        lost = self.caveat_or_later_check_or_omission or not self.preserves_as_blocker or not self.r_f or below
        return Outcome(p=p, d=not p and lost, c=self.r_s and self.r_q and self.r_o and self.r_f)

    @property
    def ruled(self) -> Outcome:
        """The reading with precedence (*ours*): a complete block decides P, a partial one is lost blocker status."""
        if self.block == "complete":
            return Outcome(p=True, d=False, c=True)
        if self.block == "partial":
            return Outcome(p=False, d=True, c=self.plain.c)
        return self.plain

    def row(self) -> dict[str, int]:
        """Return the profile and its plain outcome as 0 and 1, named as the labelled data names them."""
        fields = ("r_s", "r_q", "r_o", "r_f", "preserves_as_blocker", "caveat_or_later_check_or_omission")
        out = {name: int(getattr(self, name)) for name in fields}
        o = self.plain
        return out | {"P": int(o.p), "D": int(o.d), "U": int(o.u), "C": int(o.c)}


def known(trajectory: str, block: str, scores: dict[str, float | None]) -> None:
    """Refuse a rule, a block state or a score that does not exist.

    Raises:
        InputError: names the value.
    """
    if trajectory not in TRAJECTORIES:
        raise InputError(
            f"`{trajectory}` is no trajectory", where="trajectory", fix=f"one of {', '.join(TRAJECTORIES)}"
        )
    if block not in BLOCKS:
        raise InputError(f"`{block}` is no state of a block", where="block", fix=f"one of {', '.join(BLOCKS)}")
    for name, score in scores.items():
        if score is not None and not 0 <= score <= 1:
            raise InputError(f"{name} is {score}, not a score", where=name, fix="a number from 0 to 1")
