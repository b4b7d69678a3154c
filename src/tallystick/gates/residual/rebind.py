"""From values seen on a replica to their sources: what an identifier will be live, only the live receipt says.

A literal that nothing at handoff time grounds, and that a replica receipt of one of the proposal's own calls holds, is
bound to that call and place: the first in the order of the calls, then of the result. Nothing else is touched.
Source: residual completion, section 3.3, step 2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tallystick.contracts.terms import sources as terms
from tallystick.contracts.types import Contract, Tool
from tallystick.errors import InputError
from tallystick.gates.residual.claims import accepted_now
from tallystick.gates.residual.proposal import Proposal
from tallystick.gates.residual.refs import Path, Ref, plain, refs_in, rewritten
from tallystick.gates.residual.sources import Sources
from tallystick.model import jsontext
from tallystick.model.events import Blob, ReplicaCall
from tallystick.model.pointer import MISSING, join, leaves, resolve
from tallystick.model.residual import json_text
from tallystick.view import View
from tallystick.view.parse import parse_args


def rebound(
    view: View, contract: Contract, sources: Sources, proposal: Proposal, replica: Sequence[ReplicaCall]
) -> tuple[dict[str, Mapping[str, Any]], Mapping[str, Any]]:
    """Return (arguments by call id, claims) with replica values replaced by references to their sources."""
    if not replica:
        return {call.id: call.args for call in proposal.calls}, proposal.claims
    shown = _shown(sources, proposal, replica)
    args: dict[str, Mapping[str, Any]] = {
        call.id: {
            name: rewritten(value, partial(_argument, shown, sources, contract.tools.get(call.tool), name, at))
            for name, value in call.args.items()
        }
        for at, call in enumerate(proposal.calls)
    }
    slots = {slot.name: slot for slot in contract.answer}
    claims: dict[str, Any] = {}
    for name, value in proposal.claims.items():
        slot = slots.get(name)
        dynamic = any(True for _ in refs_in(value))
        if slot is None or (not dynamic and accepted_now(view, contract, name, plain(value, sources.says))):
            claims[name] = value  # it stands on live evidence as it is
        else:
            tools = {source.tool for _, source in terms(slot.derive.term)}
            claims[name] = rewritten(value, partial(_claimed, shown, tools))
    return args, claims


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a replica receipt of one of the proposal's calls holds a scalar."""

    at: int  # position of the call
    call: str
    tool: str
    pointer: str

    def written(self) -> dict[str, str]:
        return Ref(self.call, self.pointer).written()


_Shown = Mapping[str, list[_Place]]  # canonical JSON of a scalar → its places, in order


def _argument(shown: _Shown, sources: Sources, tool: Tool | None, name: str, at: int, path: Path, value: Any) -> Any:
    if value is None or isinstance(value, bool) or (tool is not None and sources.grounds(tool, name, path, value)):
        return value
    place = next((p for p in shown.get(json_text(value), ()) if p.at < at), None)
    return place.written() if place is not None else value


def _claimed(shown: _Shown, tools: set[str], _: Path, value: Any) -> Any:
    place = next((p for p in shown.get(json_text(value), ()) if not tools or p.tool in tools), None)
    return place.written() if place is not None else value


def _shown(sources: Sources, proposal: Proposal, replica: Sequence[ReplicaCall]) -> _Shown:
    """Pair each call with its own replica call, the k-th of equal ones with the k-th, and list what those show."""
    tried: dict[tuple[str, str], deque[ReplicaCall]] = {}
    for made in replica:
        tried.setdefault((made.tool, json_text(parse_args(made.args))), deque()).append(made)
    results: dict[str, Any] = {}
    found: dict[str, list[_Place]] = {}

    def look(ref: Ref) -> Any:
        known = results.get(ref.source, MISSING)
        return resolve(known, ref.tokens) if known is not MISSING else sources.says(ref)

    for at, call in enumerate(proposal.calls):
        mine = tried.get((call.tool, _replica_args(call.args, look)))
        if not mine:
            continue
        results[call.id] = _result(mine.popleft().result)
        for path, value in leaves(results[call.id]):
            if value is not None and not isinstance(value, bool) and value != "":
                found.setdefault(json_text(value), []).append(_Place(at, call.id, call.tool, join(path)))
    return found


def _replica_args(args: Mapping[str, Any], look: Callable[[Ref], Any]) -> str:
    try:
        return json_text(plain(args, look))
    except InputError:  # a reference that says nothing on the replica: it made no such call
        return ""


def _result(body: Blob | None) -> Any:
    if body is None:
        return MISSING
    try:
        return jsontext.loads(body.raw)
    except InputError:
        return body.text
