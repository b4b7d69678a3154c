"""Stop policies: after an agent's turn, does the session go on, go back to the user, or end, and on whose word?

Three policies of the source's appendix W as pluggable values: B1 reads a marker in the text, B2 the absence of a tool
call, A the stage that the runtime derives from its own records. Pure: a policy sees a `Moment` and nothing else, so the
same policy drives a live session and judges a recording. None of them says that a task is done; only state does.

Source: unreliable-progress-bar, section 6 and appendices V and W. *Ours*: that a malformed marker counts as none, that
B1 asks for no marker before the first tool event (the source mentions such a rule and does not state it), and how often
A re-prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from tallystick.gates.stage import Stage

Ruling = Literal["go_on", "hand_over", "re_prompt", "stop", "dead_end", "give_up"]
"""go_on: the agent's turn is not over, its calls are answered · hand_over: the turn goes to the user · re_prompt: the
runtime asks the agent to continue · stop: the session ends as done · dead_end: it ends because a report is missing ·
give_up: it ends because nothing came of re-prompts."""
ENDS: Final[frozenset[Ruling]] = frozenset({"stop", "dead_end", "give_up"})
"""Rulings that end a session. A hand-over ends it too where the user has nothing to add; that is the user's doing."""
RE_PROMPTS: Final = 2
"""Re-prompts of A with no call in between, after which it gives up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """What a policy may look at after an agent's turn.

    Attributes:
        called: the turn made at least one tool call.
        tool_event: a tool has returned in this session, in this turn or before.
        reported: a report is present in the turn's text.
        value: the value of its well-formed report, None where there is none.
        stage: the stage derived from the runtime's own records, after the turn's calls.
        user_has_more: the user has something to add.
        re_prompted: re-prompts since the agent's last call.
    """

    called: bool
    tool_event: bool
    reported: bool
    value: str | None
    stage: Stage
    user_has_more: bool
    re_prompted: int = 0


class StopPolicy(Protocol):
    """A stop policy.

    Two policies of one name answer an agent in the same words.
    """

    @property
    def name(self) -> str:
        """Name of the policy."""

    @property
    def needs_reports(self) -> bool | None:
        """Whether the agent is told to report under it, so that its input is another than without; None for either."""

    def decide(self, moment: Moment) -> Ruling:
        """Return what happens after a turn."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkerGate:
    """B1: the loop reads a marker in the text. A missing one ends the session, and `completed` stops it."""

    completed: str = Stage.COMPLETED.value

    @property
    def name(self) -> str:
        """Name of the policy."""
        return "B1"

    @property
    def needs_reports(self) -> bool:
        """The agent is told to report."""
        return True

    def decide(self, moment: Moment) -> Ruling:
        """Return what happens after a turn: its text alone decides."""
        if moment.called:
            return "go_on"
        if not moment.tool_event:
            return "hand_over"  # nothing is due before the first tool event
        if moment.value is None:
            return "dead_end"
        return "stop" if moment.value == self.completed else "hand_over"


@dataclass(frozen=True, kw_only=True, slots=True)
class NoToolCallGate:
    """B2: a turn without a tool call is over, whatever it says.

    Attributes:
        reports: the agent is told to report although nobody reads it; *ours*. Such a session never ends sooner than
            under the other policies, so its recording can be judged by B1 and by A's stop rule.
    """

    reports: bool = False

    @property
    def name(self) -> str:
        """Name of the policy."""
        return "B2 with reports" if self.reports else "B2"

    @property
    def needs_reports(self) -> bool:
        """Whether the agent is told to report."""
        return self.reports

    def decide(self, moment: Moment) -> Ruling:
        """Return what happens after a turn: its structure alone decides."""
        return "go_on" if moment.called else "hand_over"


@dataclass(frozen=True, kw_only=True, slots=True)
class RuntimeOwned:
    """A: the derived stage decides. What the agent says about being done is not looked at.

    Attributes:
        matched: the re-prompt also authorises defaults for what was left open, as the other gates' user turn does.
        re_prompts: how often it asks again, with no call in between, before it gives up.
    """

    matched: bool = False
    re_prompts: int = RE_PROMPTS

    @property
    def name(self) -> str:
        """Name of the policy."""
        return "A matched" if self.matched else "A unmatched"

    @property
    def needs_reports(self) -> bool:
        """Nobody reads reports."""
        return False

    def decide(self, moment: Moment) -> Ruling:
        """Return what happens after a turn: the record alone decides."""
        if moment.stage is Stage.COMPLETED:
            return "stop"
        if moment.called:
            return "go_on"
        if moment.stage is Stage.NEEDS_INFO and moment.user_has_more:
            return "hand_over"  # only the user can supply what is missing
        return "re_prompt" if moment.re_prompted < self.re_prompts else "give_up"


@dataclass(frozen=True, kw_only=True, slots=True)
class RuntimeStop:
    """A's stop rule alone: the derived stage stops, and nobody asks to continue. It judges recordings (appendix V)."""

    @property
    def name(self) -> str:
        """Name of the policy."""
        return "A stop rule"

    @property
    def needs_reports(self) -> None:
        """A rule alone, whatever the agent was told."""
        return

    def decide(self, moment: Moment) -> Ruling:
        """Return what happens after a turn: done is done, else the turn's structure decides who is next."""
        if moment.stage is Stage.COMPLETED:
            return "stop"
        return "go_on" if moment.called else "hand_over"


POLICIES: Final[dict[str, StopPolicy]] = {
    "B1": MarkerGate(),
    "B2": NoToolCallGate(),
    "A": RuntimeOwned(),
    "A-matched": RuntimeOwned(matched=True),
    "B2-reports": NoToolCallGate(reports=True),
    "A-stop": RuntimeStop(),
}
"""The policies by the name they are asked for. The first four are the source's comparison."""
COMPARED: Final = ("B1", "B2", "A", "A-matched")


@dataclass(frozen=True, kw_only=True, slots=True)
class Regated:
    """What another policy would have made of a recording.

    Attributes:
        exact: whether that can be told.
        turn: the turn, from 0, at which it ends the session; None where the recording's end is its end too.
        ruling: its ruling there.
        why_not: why it cannot be told.
    """

    exact: bool
    turn: int | None = None
    ruling: Ruling | None = None
    why_not: str = ""


def regate(moments: Sequence[Moment], recorded: StopPolicy, other: StopPolicy) -> Regated:
    """Return how a recorded session would have ended under another policy, where the recording's policy is known.

    Args:
        moments: of every agent turn, in order.
        recorded: the policy it was recorded under.
        other: the policy it is judged by.
    """
    return regate_rulings(
        moments, [recorded.decide(m) for m in moments], other, told=bool(recorded.needs_reports), name=recorded.name
    )


def regate_rulings(
    moments: Sequence[Moment], rulings: Sequence[Ruling], other: StopPolicy, *, told: bool, name: str = ""
) -> Regated:
    """Return how a recorded session would have ended under another policy, from what did follow each of its turns.

    Exact only while both cause the same input: the agent is told the same, and until the other ends the session it
    answers each turn as the recording did. Where it would have gone on past the recording's own end, nothing is known.

    Args:
        moments: of every agent turn, in order.
        rulings: what followed each of them.
        other: the policy it is judged by.
        told: whether the agent was told to report.
        name: the policy it was recorded under, "" where that is not known: its words to the agent are others then.
    """
    if other.needs_reports is not None and other.needs_reports != told:
        return Regated(exact=False, why_not="not regatable: only one of the two tells the agent to report")
    for turn, (moment, was) in enumerate(zip(moments, rulings, strict=True)):
        now = other.decide(moment)
        if now in ENDS:
            return Regated(exact=True, turn=turn, ruling=now)
        if was in ENDS:
            return Regated(exact=False, why_not="not regatable: it would have gone on where the recording ends")
        if was != now or (was == "re_prompt" and name != other.name):
            return Regated(exact=False, why_not=f"not regatable: at turn {turn} the agent would have been answered "
                           "otherwise")  # fmt: skip
    return Regated(exact=True)
