"""What an artifact's words seem to keep of each open blocker, where no block decides. A reading of words, not evidence.

The checker's rules read; a similarity or a panel of judges may say what they think beside them. None of it is asked by
the handoff gate, recorded, or able to change a verdict: an artifact without its block is repaired or rejected whatever
it says.
Source: operational state preservation, P, D, U and the profile R, judged on prose alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.handoff.carrier import FIELDS, Blocker, Carrier
from tallystick.handoff.checker import Finding, Outcome, Profile, Trajectory, check
from tallystick.handoff.checker.panel import Judge, Vote, panel
from tallystick.handoff.checker.second import Doubt, Similar, second_opinion

MOST: Final = 50_000
"""Characters that are read: a longer text is read from its beginning, and its reading says so."""
_RETAINED: Final = {"status": "r_s", "prerequisite": "r_q", "authority": "r_o", "fallback": "r_f"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What the words of an artifact seem to keep of one open blocker.

    Attributes:
        blocker: its id.
        profile: the checker's profile, with its findings and quotes.
        cut: the text was longer than `MOST`, and only its beginning was read.
        doubts: where the similarity differs from the rules.
        votes: each judge's answer; one that failed is ambiguous in everything.
    """

    blocker: str
    profile: Profile
    cut: bool = False
    doubts: tuple[Doubt, ...] = ()
    votes: Mapping[str, Vote]

    @property
    def outcome(self) -> Outcome:
        """P, D, U and C of the words by the paper's rule (appendix A.3)."""
        return self.profile.plain

    @property
    def kept(self) -> tuple[str, ...]:
        """The fields that the words seem to keep."""
        return tuple(name for name in FIELDS if getattr(self.profile, _RETAINED[name]))

    @property
    def lost(self) -> tuple[str, ...]:
        """The fields that they seem to lose."""
        return tuple(name for name in FIELDS if name not in self.kept)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Why, field by field, the words quoted."""
        return self.profile.findings

    @property
    def note(self) -> str:
        """One sentence for people, which says what it is."""
        said = self.outcome
        result = "would bind" if said.p else "would not bind" if said.d else "is undecided"
        text = f"`{self.blocker}`: by its words it {result} (a reading of words, not evidence)"
        text += f": they keep {', '.join(self.kept) or 'nothing'}"
        text += f", and lose {', '.join(self.lost)}" if self.lost else ""
        return text + (f"; only the first {MOST} characters were read" if self.cut else "")

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; `evidence` is always false."""
        said = self.outcome
        return {
            "blocker": self.blocker,
            "evidence": False,
            "P": said.p,
            "D": said.d,
            "U": said.u,
            "C": said.c,
            **{field: bool(getattr(self.profile, field)) for field in _RETAINED.values()},
            "kept": list(self.kept),
            "lost": list(self.lost),
            "cut": self.cut,
            "findings": [{"field": f.field, "kept": f.kept, "quote": f.quote, "why": f.why} for f in self.findings],
            "doubts": [
                {"field": d.field, "kind": d.kind, "quote": d.quote, "likeness": d.likeness} for d in self.doubts
            ],
            "votes": {name: {f: getattr(v, f) for f in Vote.__slots__} for name, v in self.votes.items()},
        }  # fmt: skip


def readings_of(
    carrier: Carrier,
    text: str,
    *,
    trajectory: Trajectory = "static",
    similar: Similar | None = None,
    judges: Mapping[str, Judge] | None = None,
) -> tuple[Reading, ...]:
    """Return one reading for each open blocker of a carrier.

    Args:
        carrier: what the record says has to travel.
        text: the artifact's prose.
        trajectory: static or dynamic; picks the paper's rule.
        similar: two texts to a likeness, for a second opinion; its own errors are the caller's.
        judges: judges by name, each from (task, text) to a `Vote`; what one raises is an ambiguous vote.

    Raises:
        InputError: no such trajectory, or judges that are no mapping of callables.
    """
    if judges is not None and not (isinstance(judges, Mapping) and all(map(callable, judges.values()))):
        raise InputError("judges that are no mapping of callables", where="judges", fix="{name: judge}")
    said = text[:MOST]
    found = []
    for blocker in carrier.blockers:
        task = _task(blocker)
        profile = check(task, said, trajectory)
        asked = panel(judges, [(task, said)]).votes if judges else {}
        found.append(
            Reading(
                blocker=blocker.id, profile=profile, cut=len(text) > MOST,
                doubts=second_opinion(profile, task, said, similar) if similar is not None else (),
                votes={name: votes[0] for name, votes in asked.items()},
            )
        )  # fmt: skip
    return tuple(found)


def _task(blocker: Blocker) -> dict[str, Any]:
    """Return a blocker as the checker's record of a task: its four fields, and the actions it removes in words."""
    about = f" {' '.join(blocker.entity)}" if blocker.entity else ""
    return {
        "z": {name: getattr(blocker, name) for name in FIELDS},
        "removed_actions": [f"{tool.replace('_', ' ')}{about}" for tool in blocker.removes],
    }
