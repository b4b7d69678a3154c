"""The gateway's own two tools: where the task stands, and saying that it is finished.

An MCP server never learns that an agent stops, so the agent is given a way to say so, and is answered by the stop gate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tallystick.gates.settle import status_query
from tallystick.gates.stage import Stage, open_obligations, stage_of
from tallystick.model import jsontext
from tallystick.runtime.outcome import reasons_json
from tallystick.runtime.run import Run

STATUS: Final = "tallystick_status"
FINISH: Final = "tallystick_finish"

_STATUS_TEXT: Final = (
    "Say where the task stands by the record: its stage, what is done and still owed, what evidence is missing and "
    "which reads would give it, and which calls are in doubt. Changes nothing."
)


class Own:
    """Names and definitions of the gateway's tools.

    Args:
        taken: names the server's tools are known to have; ours step aside.
    """

    def __init__(self, run: Run, taken: Iterable[str]) -> None:
        self._run = run
        self._taken = set(taken)
        self.status = _free(STATUS, self._taken)
        self.finish = _free(FINISH, self._taken)

    def avoid(self, name: str) -> None:
        """The server has a tool of this name. If it is one of ours, ours is called something else from now on."""
        self._taken.add(name)
        if name == self.status:
            self.status = _free(STATUS, self._taken)
        if name == self.finish:
            self.finish = _free(FINISH, self._taken)

    def definitions(self) -> tuple[Mapping[str, Any], ...]:
        """Return both tools as a `tools/list` result names them."""
        return (
            {
                "name": self.status,
                "description": _STATUS_TEXT,
                "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
                "annotations": {"readOnlyHint": True, "openWorldHint": False},
            },
            {
                **self._run.finish_tool(name=self.finish).definition,
                "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
            },
        )


def _free(base: str, taken: set[str]) -> str:
    name, n = base, 2
    while name in taken:
        name, n = f"{base}_{n}", n + 1
    return name


def standing(run: Run) -> dict[str, Any]:
    """Return where a run stands, as JSON values, from the record alone."""
    view, contract = run.view, run.contract
    found = stage_of(view, contract)
    doubts = []
    for call in view.doubts.values():
        read = status_query(contract, call)
        doubts.append(
            {
                "call": call.id,
                "tool": call.tool,
                "settled_by": {"tool": read.tool, "args": jsontext.loads(read.args)} if read else "a person",
            }
        )
    return {
        "run": run.id,
        "status": run.status,
        "stage": str(found.stage),
        "done": list(found.done),
        "owed": [{"id": o.id, "text": o.text, "tool": o.tool} for o in open_obligations(view)],
        "missing": reasons_json(found.missing),
        "in_doubt": doubts,
        "waiting_for_approval": [{"tool": p.tool, "args": p.args, "message": p.message} for p in run.pending()],
        "answer": [{"slot": s.name, "type": str(s.type), "required": s.required} for s in contract.answer],
    }


def standing_text(told: Mapping[str, Any]) -> str:
    """Return the same for a model to read."""
    lines = [
        f"stage: {Stage(told['stage']).words}" + (f"; the run has ended: {told['status']}" if told["status"] else "")
    ]
    lines += [f"done: {', '.join(told['done']) or 'nothing yet'}"]
    lines += [f"owed: {o['id']}" + (f" ({o['text']})" if o["text"] else "") for o in told["owed"]]
    for reason in told["missing"]:
        lines.append(f"missing: {reason['message']}; what would help: {reason['what_would_help']}")
        lines += [f"  read: {r['tool']} {jsontext.dumps(r['args'])}" for r in reason["reads"]]
    for doubt in told["in_doubt"]:
        by = doubt["settled_by"]
        how = by if isinstance(by, str) else f"{by['tool']} {jsontext.dumps(by['args'])}"
        lines.append(f"in doubt: {doubt['tool']} ({doubt['call']}); settled by: {how}")
    lines += [f"waits for approval: {p['tool']} {jsontext.dumps(p['args'])}" for p in told["waiting_for_approval"]]
    lines += [f"answer must state: {s['slot']} ({s['type']})" for s in told["answer"] if s["required"]]
    return "\n".join(lines)
