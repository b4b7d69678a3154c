"""From signals to fields: each field is a weighing of the signals that speak to it, over the whole text.

A text has net force: a footnote that stops does not undo a task line that goes ahead, and an opinion that is reported
does not undo a stop. So no single signal decides; each counts at most twice, with the weight of `WEIGHTS`;
and the whole wording leans one way or the other, by the table of `phrases`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final

from tallystick.handoff.checker.phrases import leaning
from tallystick.handoff.checker.profile import Field, Finding
from tallystick.handoff.checker.signals import SAYINGS, Signal
from tallystick.handoff.checker.weights import WEIGHTS

_FIELDS: Final[Mapping[str, Field]] = {
    "r_s": "status", "r_q": "prerequisite", "r_o": "authority", "r_f": "fallback", "preserves": "force",
}  # fmt: skip
_ABSENT: Final[Mapping[str, str]] = {
    "r_s": "nothing marks a removed action as stopped",
    "r_q": "nothing names the prerequisite as not obtained",
    "r_o": "nobody is named as the one who decides",
    "r_f": "no alternative is offered as usable",
    "preserves": "nothing in the text holds a removed action back",
}
_NAMES: Final[Mapping[str, frozenset[str]]] = {
    "r_q": frozenset({"q_open", "q_named", "q_closed", "kind_open", "gate_act", "gate", "q_late"}),
    "r_o": frozenset({"a_named", "a_decides", "a_told"}),
    "r_f": frozenset({"way_ok", "way_said", "way_bad", "go_mixed"}),
}
"""What has to be there at all for a field to be retained."""
_RELEASING: Final = ("silence", "if_trouble")
"""What lets the action go by itself, by a clock or under pressure: no number of stops beside it makes up for that."""
_MOST: Final = 2
"""How often one kind of signal counts: saying a thing five times is not five things."""
_SPOKEN: Final = 0.3
"""Least weight of a signal that is worth a finding."""


def weighed(name: str, found: Sequence[Signal], said: Iterable[str]) -> float:
    """Return the weight of evidence for a field, of its signals and its phrases; above zero it is retained."""
    weights = WEIGHTS[name]
    counts = Counter(s.kind for s in found)
    spoken = weights["bias"] + sum(weights.get(kind, 0.0) * min(_MOST, n) for kind, n in counts.items())
    return spoken + leaning(name, said)


def retained(evidence: Mapping[str, float], kinds: Container[str]) -> dict[str, bool]:
    """Return which fields are retained: those with evidence above zero, if anything at all speaks of them."""
    kept = {name: value > 0 for name, value in evidence.items()}
    for name, named in _NAMES.items():
        kept[name] = kept[name] and any(kind in kinds for kind in named)
    kept["preserves"] = kept["preserves"] and kept["r_s"] and not any(kind in kinds for kind in _RELEASING)
    return kept


def findings(name: str, kept: bool, found: Sequence[Signal]) -> tuple[Finding, ...]:
    """Return what speaks for and against a field, the words quoted; for a lost one also what nothing says."""
    weights = WEIGHTS[name]
    out = []
    seen: set[tuple[str, str]] = set()
    for s in found:
        weight = weights.get(s.kind, 0.0)
        if abs(weight) >= _SPOKEN and (s.kind, s.said) not in seen:
            seen.add((s.kind, s.said))
            out.append(Finding(field=_FIELDS[name], kept=weight > 0, quote=s.said, why=SAYINGS[s.kind]))
    if not kept and not any(f.kept for f in out):
        out.append(Finding(field=_FIELDS[name], kept=False, quote="", why=_ABSENT[name]))
    return tuple(out)
