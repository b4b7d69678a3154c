"""Scripted reporters: they are told the key and err in a stated way at stated checkpoints. They test the instrument.

Their rates are known, so what is measured can be held against them. They are called `scripted:` everywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from tallystick.errors import InputError
from tallystick.evals.lifecycle.row import CHECKPOINTS, NEGATIVES
from tallystick.evals.lifecycle.suite import protocol
from tallystick.evals.lifecycle.suite.item import Item
from tallystick.evals.lifecycle.suite.kept import Called, Raw
from tallystick.evals.lifecycle.suite.scenario import scenario
from tallystick.evals.lifecycle.suite.trace import Returned, compact, exchange
from tallystick.gates.stage import Stage

Fault = Literal["miss", "diverge", "malformed", "stale", "premature", "alarm", "silent_act", "transport"]
"""miss: speaks without a report · diverge: calls a tool where it should speak · malformed: a report with text after it
· stale: the stage before the true one · premature: COMPLETED too early · alarm: a report where none is due
· silent_act: speaks, without a report, where a call is required · transport: no response."""
Rates = Mapping[str, Mapping[Fault, float]]
"""Checkpoint → fault → probability. What is left is right."""
_DUE: Final = ("wait", "ready", "step", "done")
_NOT_DUE: Final = ("act", *NEGATIVES)
_WHERE: Final[Mapping[Fault, tuple[str, ...]]] = {
    "alarm": _NOT_DUE,
    "silent_act": ("act", "mid_chain"),
    "stale": ("ready", "step", "done"),
    "premature": ("wait", "ready", "step"),
}
_ORDER: Final = tuple(Stage)


def _everywhere(fault: Fault) -> Rates:
    return {c: {fault: 1.0} for c in _WHERE.get(fault, _DUE)}


BEHAVIOURS: Final[Mapping[str, Rates]] = {
    "truthful": {},
    "silent": _everywhere("miss"),
    "acts": _everywhere("diverge"),
    "garbles": _everywhere("malformed"),
    "stale": _everywhere("stale"),
    "premature": _everywhere("premature"),
    "alarms": _everywhere("alarm"),
    "drops": {c: {"transport": 1.0} for c in (*CHECKPOINTS, *NEGATIVES)},
    "lost": {
        "wait": {"miss": 0.2, "diverge": 0.05},
        "ready": {"miss": 0.3, "diverge": 0.45, "malformed": 0.05},
        "act": {},
        "step": {"miss": 0.3, "diverge": 0.4, "stale": 0.1, "premature": 0.05},
        "done": {"miss": 0.05},
        "pre_tool": {"alarm": 0.5},
        "mid_chain": {"silent_act": 0.1},
        "post_done": {"alarm": 0.9},
    },
}
"""What `scripted:NAME` does. `lost` is a reporter that loses the middle, with rates of our own choosing."""


@dataclass(frozen=True, kw_only=True)
class Scripted:
    """A scripted reporter.

    Attributes:
        behaviour: what it is called.
        rates: its faults.
        scale: probability that a fault that was drawn is committed.
        seed: of its draws.
    """

    behaviour: str
    rates: Rates
    scale: float = 1.0
    seed: str = "lifecycle"

    @property
    def name(self) -> str:
        """`scripted:BEHAVIOUR`, with `@P` where faults are committed with a probability."""
        return f"scripted:{self.behaviour}{'' if self.scale == 1 else f'@{self.scale:g}'}"

    def fault(self, item: Item, repetition: int) -> Fault | None:
        """Return the fault it commits, None for none. The same item and repetition always give the same."""
        drawn = hashlib.sha256(f"{self.seed}/{item.id}/{repetition}".encode()).digest()
        left = int.from_bytes(drawn[:8], "big") / 2**64
        for fault, p in self.rates.get(item.checkpoint, {}).items():
            if left < p * self.scale:
                return fault
            left -= p * self.scale
        return None

    def answer(self, item: Item, repetition: int) -> Raw:
        """Return its reply to an item."""
        fault = self.fault(item, repetition)
        if fault == "transport":
            return Raw(
                stimulus=item.id, digest=item.digest, repetition=repetition, deployment=self.name, failure="scripted"
            )
        speaks = item.key.mode == "speak" if fault not in ("diverge", "silent_act", "alarm") else fault != "diverge"
        return Raw(
            stimulus=item.id,
            digest=item.digest,
            repetition=repetition,
            deployment=self.name,
            text=self._text(item, fault) if speaks else "",
            calls=() if speaks else (_call(item),),
            served=self.name,
        )

    def _text(self, item: Item, fault: Fault | None) -> str:
        words = scenario(item.scenario).words(item.language)
        spoken = {"wait": words.ask, "pre_tool": words.ask, "ready": words.confirm, "step": words.report}
        text = spoken.get(item.checkpoint, words.finish)
        if item.key.due and fault != "miss":
            report = _report(item, fault)
            return f"{report}\n{text}" if fault == "malformed" else f"{text}\n{report}"
        return f"{text}\n{_report(item, fault)}" if fault == "alarm" else text


def _report(item: Item, fault: Fault | None) -> str:
    """Return the report that a fault makes of the right one."""
    stage, duty = item.key.stage, item.arm.duty
    told = stage
    if fault == "stale":
        told = _ORDER[max(0, _ORDER.index(stage) - 1)]
    elif fault == "premature":
        told = Stage.COMPLETED
    if duty == "O1":
        return protocol.SIGIL if told is stage else protocol.SIGIL.replace("done", "undone")
    if duty == "O2":
        return protocol.sentence(item.language, finished=told is Stage.COMPLETED)
    # In the constant arms a wrong value is one the arm does not have: a stage.
    value = told.value if told is not stage else protocol.CONSTANTS.get(duty, stage.value)
    return protocol.marker(value, item.encoding)


def _call(item: Item) -> Called:
    script = scenario(item.scenario)
    step = 1 if item.checkpoint in ("step", "mid_chain", "done", "post_done") and len(script.steps) > 1 else 0
    args, _ = exchange(script, item.language, Returned(step=step, ok=True))
    return Called(tool=script.steps[step].tool, raw=compact(args))


def is_scripted(name: str) -> bool:
    """Return whether `--model NAME` asks for a scripted reporter or agent."""
    return name == "scripted" or name.startswith("scripted:")


def scripted(name: str) -> Scripted:
    """Return the reporter that `scripted:BEHAVIOUR[:P]` names.

    Raises:
        InputError: there is none, or P is no probability.
    """
    _, _, rest = name.partition(":")
    wanted, _, chance = rest.partition(":")
    wanted = wanted or "truthful"
    if wanted not in BEHAVIOURS:
        raise InputError(
            f"there is no scripted reporter `{wanted[:80]}`", where="--model", fix=f"one of: {', '.join(BEHAVIOURS)}"
        )
    return Scripted(behaviour=wanted, rates=BEHAVIOURS[wanted], scale=probability(chance))


def probability(text: str) -> float:
    """Return the probability that stands behind a scripted name, 1 where none does.

    Raises:
        InputError: it is none.
    """
    try:
        p = float(text) if text else 1.0
    except ValueError:
        p = -1.0
    if not 0 <= p <= 1:
        raise InputError(f"`{text[:40]}` is not a probability", where="--model", fix="a number from 0 to 1")
    return p
