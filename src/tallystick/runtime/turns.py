"""The end of an agent's turn under a stop policy: go on, hand over to the user, ask again, or end the run.

The runtime-owned policy looks at the derived stage, and at its end the stop gate has the last word. The two that read a
signal of the model's (B1, B2) are there to be compared with it: a run they end is never CERTIFIED.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tallystick.errors import InputError
from tallystick.gates.stage import Standing, stage_of
from tallystick.gates.stop_policies import COMPARED, POLICIES, Moment, Ruling, RuntimeOwned, RuntimeStop, StopPolicy
from tallystick.model.decision import Decision
from tallystick.model.proposal import Claim
from tallystick.progress import stage_named
from tallystick.runtime.closing import rejection
from tallystick.runtime.drivers import Steps, Write
from tallystick.runtime.outcome import Finish, Status

if TYPE_CHECKING:
    from tallystick.runtime.run import Run

Claims = Iterable[Claim] | Mapping[str, Any] | InputError | None

UNMATCHED: Final = "[System] The task is not yet complete. Please go on."
MATCHED: Final = (
    "[System] The task is not yet complete. Proceed with the information you have, use defaults for the rest, and "
    "execute the remaining steps directly."
)
"""The source's words (appendix E); the unmatched ones are *ours*, as the source gives only the matched in full."""
_ENDED: Final[Mapping[Ruling, str]] = {
    "stop": "policy.stopped", "dead_end": "policy.no_report", "give_up": "policy.gave_up",
    "hand_over": "policy.user_silent",
}  # fmt: skip
"""Why a run ended, by the ruling that ended it without the stop gate."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """What happens after an agent's turn.

    Attributes:
        ruling: go_on: answer its calls · hand_over: the turn goes to the user · re_prompt: tell the agent `prompt` ·
            stop, dead_end, give_up: the run has ended, `status` says how.
        standing: where the task stood by the record.
        prompt: what to tell the agent; "" unless it is to go on.
        status: the run's final status, None while it goes on.
        finish: the stop gate's answer, where the stage was complete and it was asked.
    """

    ruling: Ruling
    standing: Standing
    prompt: str = ""
    status: Status | None = None
    finish: Finish | None = None

    @property
    def ended(self) -> bool:
        """Whether the run is over."""
        return self.status is not None

    def __str__(self) -> str:
        """Return the ruling, with the final status or, on lines of their own, what the agent is told."""
        if self.status is not None:
            return f"{self.ruling}: the run has ended {self.status}"
        return f"{self.ruling}\n{self.prompt}" if self.prompt else self.ruling


def policy_in(given: object) -> StopPolicy:
    """Return a stop policy by its name, or as it is given.

    Raises:
        InputError: it is none.
    """
    if isinstance(given, str):
        if given in COMPARED:
            return POLICIES[given]
    elif callable(getattr(given, "decide", None)) and isinstance(getattr(given, "name", None), str):
        return given  # type: ignore[return-value]  # what the protocol asks for is there
    raise InputError(f"unknown stop policy `{given}`", where="stop_policy", fix=f"one of: {', '.join(COMPARED)}")


class Turns:
    """The turns of one run's agent.

    Args:
        run: the run.
        policy: what decides.
        end: ends the run without an accepted stop, for a reason; called under the journal's lock.
    """

    def __init__(self, run: Run, policy: StopPolicy, end: Callable[[str], Status]) -> None:
        self.policy = policy
        self.owned = isinstance(policy, RuntimeOwned | RuntimeStop)
        self._run = run
        self._end = end
        self._proposed = 0
        self._re_prompted = 0

    def steps(self, text: str, *, user_has_more: bool, claims: Claims, truncated: bool) -> Steps[Turn]:
        """Return the end of a turn as steps: read its report, ask the policy, and do what it says."""
        if self._run.status is not None:
            return self._after_the_end()
        moment, standing = yield Write(lambda: self._moment(text, user_has_more, truncated=truncated))
        ruling = self.policy.decide(moment)
        if ruling == "stop" and self.owned:
            finish: Finish = yield from self._run.finish_steps(text, claims, truncated=truncated)
            if finish.status is not None:
                ended: Ruling = "stop" if finish.accepted else "give_up"
                return Turn(ruling=ended, standing=standing, status=finish.status, finish=finish)
            return Turn(ruling="re_prompt", standing=standing, prompt=str(finish), finish=finish)
        over = ruling in ("stop", "dead_end", "give_up") or (ruling == "hand_over" and not user_has_more)
        if over:
            status: Status = yield Write(lambda: self._over(_ENDED[ruling]))
            return Turn(ruling=ruling, standing=standing, status=status)
        if ruling == "re_prompt":
            self._re_prompted += 1
            prompt = self._prompt(standing)
            yield Write(lambda: self._run.says("system", prompt))
            return Turn(ruling=ruling, standing=standing, prompt=prompt)
        return Turn(ruling=ruling, standing=standing)

    def signalled(self, text: str, *, truncated: bool) -> Steps[Finish]:
        """Return what "I am done" comes to under a policy that reads the model's signal: an end, and no certificate."""
        view = self._run.view
        self._proposed = len(view.calls) + len(view.refusals)  # whoever says so makes no call in that turn
        turn = yield from self.steps(text, user_has_more=False, claims=None, truncated=truncated)
        reason = _ENDED.get(turn.ruling, "policy.user_silent")
        return Finish(decision=_uncertified(self.policy), status=turn.status, reason=reason)

    def _moment(self, text: str, user_has_more: bool, *, truncated: bool) -> tuple[Moment, Standing]:
        run = self._run
        view = run.view
        proposed = len(view.calls) + len(view.refusals)
        called, self._proposed = proposed > self._proposed, proposed
        if called:
            self._re_prompted = 0
        if text.strip() and not _said_last(run, text):
            run.says("assistant", text, truncated=truncated)  # a recording holds what a policy looked at
        report = run.hear(text, truncated=truncated)
        standing = stage_of(view, run.contract, run.now())
        return Moment(
            called=called,
            tool_event=bool(view.receipts),
            reported=report.present,
            value=_spelled(report.value),
            stage=standing.stage,
            user_has_more=user_has_more,
            re_prompted=self._re_prompted,
        ), standing

    def _after_the_end(self) -> Turn:
        status = self._run.status
        standing = stage_of(self._run.view, self._run.contract, self._run.now())
        return Turn(ruling="stop" if status == "CERTIFIED" else "give_up", standing=standing, status=status)

    def _over(self, reason: str) -> Status:
        status = self._run.status
        return status if status is not None else self._end(reason)

    def _prompt(self, standing: Standing) -> str:
        matched = isinstance(self.policy, RuntimeOwned) and self.policy.matched
        lines = [MATCHED if matched else UNMATCHED]
        lines += [f"- open: {o.id}" + (f" ({o.text})" if o.text else "") for o in standing.obligations
                  if o.state == "open"]  # fmt: skip
        for reason in (*standing.missing, *standing.duties, *standing.blocked, *standing.unsettled):
            lines.append(f"- {reason.code}: {reason.message}; what would help: {reason.reverses}")
        return "\n".join(lines)


def _said_last(run: Run, text: str) -> bool:
    """Return whether the host has just recorded these very words of the agent's."""
    last = run.view.said[-1][1] if run.view.said else None
    return last is not None and last.role in ("assistant", "agent") and last.text == text


def _spelled(value: str | None) -> str | None:
    """Return a report's value as the runtime spells its stages."""
    named = stage_named(value) if value is not None else None
    return str(named) if named is not None else value


def _uncertified(policy: StopPolicy) -> Decision:
    return rejection(
        "policy.signal",
        f"this run is stopped on the model's own signal ({policy.name}), which certifies nothing",
        "a guard with the runtime-owned stop policy",
    )
