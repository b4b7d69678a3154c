"""The act gate before a case's tools: a `Guard` under the domain's contract, with a run of its own per episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tallystick.evals.evidence.case import SUBMIT, Case, Change
from tallystick.evals.evidence.contract import contract
from tallystick.evals.evidence.desk import Desk
from tallystick.evals.evidence.episode import Call
from tallystick.runtime.guard import Guard


class Gate:
    """Proposes every call to a run; what is refused comes back with its reasons and does not reach the desk."""

    def __init__(self, case: Case, desk: Desk) -> None:
        self._desk = desk
        self._changes: tuple[Change, ...] = ()
        tools = {str(t["name"]): self._tool(str(t["name"])) for t in case.public.tools if t["name"] != SUBMIT}
        self._guard = Guard(contract(case.domain), tools=tools)
        self._run = self._guard.run({"request": case.public.text, "need_answer": False})

    def _tool(self, name: str) -> Callable[..., Any]:
        def run(**args: Any) -> Any:
            result, self._changes = self._desk.call(name, args)
            return result

        return run

    def call(self, tool: str, args: Mapping[str, Any]) -> Call:
        """Propose a call and return it as it went."""
        self._changes = ()
        outcome = self._run.call(tool, args)
        if outcome.ran:
            return Call(tool=tool, args=dict(args), result=outcome.result, changes=self._changes)
        result = outcome.result if outcome.recorded else outcome.refusal().to_json()
        return Call(tool=tool, args=dict(args), result=result, ran=False, codes=outcome.decision.codes)

    def close(self) -> None:
        """End the run and its guard."""
        self._run.close()
        self._guard.close()
