"""What a result says about its call, judged at every level: transport, protocol, body, declared predicates.

An envelope's flag is one signal of several. A write counts as done only on positive evidence; an error from a write is
*unknown* until shown otherwise; a read that failed establishes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from tallystick.contracts.types import Effect, Tool
from tallystick.errors import ExpressionError
from tallystick.model.events import Outcome
from tallystick.model.pointer import MISSING, join, resolve
from tallystick.model.values import same

_ERROR_STATES: Final = frozenset(
    {"error", "failed", "failure", "errored", "denied", "rejected", "declined", "refused", "aborted", "unauthorized",
     "forbidden", "not_found", "not found", "unavailable", "invalid"}
)  # fmt: skip
_CODE_KEYS: Final = frozenset({"code", "status_code", "statuscode", "http_status", "httpstatus"})
_PENDING_STATES: Final = frozenset(
    {"pending", "queued", "running", "in_progress", "in progress", "processing", "submitted", "accepted", "scheduled",
     "waiting", "working", "started"}
)  # fmt: skip
_STATE_KEYS: Final = frozenset({"status", "state"})
_DRY_KEYS: Final = frozenset({"is_dry_run", "dry_run", "dryrun", "simulated", "is_simulated", "simulation"})
_DROPPED_KEYS: Final = frozenset(
    {"dropped_fields", "rejected_fields", "ignored_fields", "failed_fields", "not_applied", "skipped_fields"}
)
_FLAG_KEYS: Final = frozenset({"iserror", "is_error"})
_REPORT_KEYS: Final = frozenset({"error", "errors", "err"})
_SUCCESS_KEYS: Final = frozenset({"success", "ok", "succeeded"})
_TIMEOUT_KEYS: Final = frozenset({"timed_out", "timeout", "timedout"})
_MARKER_KEYS: Final = (
    _CODE_KEYS | _STATE_KEYS | _REPORT_KEYS | _SUCCESS_KEYS | _DROPPED_KEYS | _FLAG_KEYS | _DRY_KEYS | _TIMEOUT_KEYS
)
"""Names, in lower case, of members that may say how a call went; most members are none of them."""
_FAILURE_WORDS: Final = ("error", "fail", "could not", "couldn't", "cannot", "can't", "unable", "denied", "not found",
                         "timed out", "timeout", "refused", "rejected", "exception", "invalid")  # fmt: skip
_SCALARS: Final = frozenset({str, int, bool, Decimal, type(None)})  # a set look-up beats an abstract base class
MAX_NODES: Final = 100_000
"""Nodes of a body searched for error markers; beyond that a write's outcome is *unknown*."""


@dataclass(frozen=True, slots=True)
class Judged:
    """An outcome with why: a stable code, the JSON Pointer it was read at, and a sentence."""

    outcome: Outcome
    code: str = "ok"
    pointer: str = ""
    message: str = ""


def markers(value: Any) -> Iterator[tuple[str, tuple[str | int, ...], Any]]:
    """Yield (kind, path, value) for every marker in a JSON body, outermost first.

    Kinds: `error` (isError, error, errors, status error, success/ok false), `pending`, `dry_run`, `dropped`, and
    `limit` when the body has more than `MAX_NODES` nodes.
    """
    queue: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    at = 0
    while at < len(queue):
        path, here = queue[at]
        at += 1
        if at > MAX_NODES:
            yield "limit", path, None
            return
        if type(here) is dict or isinstance(here, Mapping):
            for key, item in here.items():
                name = str(key)
                low = name.lower()
                kind = _marker(low, item) if low in _MARKER_KEYS else ""
                if kind:
                    yield kind, (*path, name), item
                if type(item) not in _SCALARS and isinstance(item, (Mapping, list)):
                    queue.append(((*path, name), item))
        elif isinstance(here, list):
            queue.extend(((*path, i), item) for i, item in enumerate(here) if isinstance(item, (Mapping, list)))


def _marker(low: str, item: Any) -> str:
    """Return the kind of marker that a member with a name of `_MARKER_KEYS` is, or ""."""
    if low in _CODE_KEYS or (low == "status" and type(item) is int):
        # An HTTP error status, RFC 9110 section 15.
        return "error" if type(item) is int and 400 <= item <= 599 else ""
    if low in _STATE_KEYS:
        state = item.lower() if isinstance(item, str) else ""
        return "error" if state in _ERROR_STATES else "pending" if state in _PENDING_STATES else ""
    if low in _REPORT_KEYS:
        # A count (`errors: 1`) or an empty list is no error of this call; a text, object or list is.
        return "error" if item is True or (isinstance(item, (str, list, Mapping)) and len(item) > 0) else ""
    if low in _SUCCESS_KEYS:
        return "error" if item is False else ""
    if low in _DROPPED_KEYS:
        return "dropped" if isinstance(item, list) and item else ""
    if item is not True:
        return ""
    return "error" if low in _FLAG_KEYS else "dry_run" if low in _DRY_KEYS else "pending"  # _TIMEOUT_KEYS


def _holds(expr: Any, env: Mapping[str, Any]) -> bool | None:
    """Return the truth of a predicate, or None where it cannot be evaluated."""
    try:
        return expr.evaluate(env) is True
    except ExpressionError:
        return None


def judge(
    tool: Tool | None,
    effect: Effect,
    args: Mapping[str, Any],
    value: Any,
    *,
    flag: str = "unset",
    text: str | None = None,
    transport_error: str | None = None,
    dry_run: bool = False,
    synthetic: bool = False,
    target_ids: tuple[str, ...] = (),
) -> Judged:
    """Return what came of a call.

    Args:
        tool: its contract, if any.
        effect: the call's effect class.
        args: the dispatched arguments.
        value: the structured result, the parsed JSON body, or the text where it is not JSON.
        flag: what the envelope said.
        text: the text channel, if there is one.
        transport_error: exception or protocol error text; the call may or may not have run.
        dry_run: the transport says it was a dry run.
        synthetic: made by a framework, not by the tool.
        target_ids: ids the call addresses; a text answer of a write is positive only if it names one.
    """
    write = effect == "write"
    if transport_error is not None:
        if tool is not None and tool.no_effect is not None and _holds(tool.no_effect, {"args": args, "result": value}):
            return Judged("no_effect", "result.rejected", "", "the tool declares this answer a rejection")
        return Judged("unknown" if write else "no_effect", "result.transport_error", "", "the call ended in an error")
    if synthetic:
        return Judged("unknown" if write else "no_effect", "result.synthetic", "", "a framework made this result")
    env = {"args": args, "result": value}
    if tool is not None and tool.no_effect is not None and _holds(tool.no_effect, env):
        return Judged("no_effect", "result.rejected", "", "the tool declares this answer a rejection")
    if flag == "error":
        return Judged("unknown" if write else "no_effect", "result.error_flag", "", "the result is flagged an error")
    batch = tool.batch if tool is not None else None
    found: dict[str, tuple[tuple[str | int, ...], Any]] = {}
    for kind, path, item in markers(value):
        if batch is not None and kind == "error" and _inside(path, batch.results):
            continue  # judged per item
        if not write and kind == "error" and _is_data(path, item):
            continue
        found.setdefault(kind, (path, item))
    if "limit" in found and write:
        return Judged("unknown", "result.too_large", "", "the result is too large to be judged")
    if dry_run or "dry_run" in found:
        pointer = join(found["dry_run"][0]) if "dry_run" in found else ""
        return Judged("simulated" if write else "ok", "result.simulated", pointer, "the effect was simulated")
    if "error" in found:
        path, item = found["error"]
        message = f"the body reports an error at {join(path)}"
        return Judged("unknown" if write else "no_effect", "result.nested_error", join(path), message)
    return _judge_write(tool, args, value, env, found, text, target_ids) if write else _judge_read(tool, env, value)


def _judge_read(tool: Tool | None, env: Mapping[str, Any], value: Any) -> Judged:
    if tool is not None and tool.ok is not None and _holds(tool.ok, env) is not True:
        return Judged("no_effect", "result.not_ok", "", "the declared success predicate is not met")
    if value is None:
        return Judged("ok", "result.empty", "", "the result is empty")
    return Judged("ok")


def _judge_write(
    tool: Tool | None,
    args: Mapping[str, Any],
    value: Any,
    env: Mapping[str, Any],
    found: Mapping[str, tuple[tuple[str | int, ...], Any]],
    text: str | None,
    target_ids: tuple[str, ...],
) -> Judged:
    if tool is not None:
        if tool.pending is not None and _holds(tool.pending, env):
            return Judged("in_flight", "result.pending", "", "the tool declares this answer not final")
        if tool.terminal:
            status = resolve(value, tool.status_at or ("status",))
            if status is not MISSING and status not in tool.terminal:
                return Judged("in_flight", "result.pending", join(tool.status_at or ("status",)), "not a final state")
        for arg, tokens in tool.echoes:
            echoed = resolve(value, tokens)
            if arg in args and echoed is not MISSING and not same(echoed, args[arg]):
                return Judged("unknown", "result.echo", join(tokens), f"the result names another `{arg}`")
        if tool.ok is not None and _holds(tool.ok, env):
            return Judged("ok")
    if "pending" in found:
        path, item = found["pending"]
        return Judged("in_flight", "result.pending", join(path), f"`{item}` is not a final state")
    if tool is not None and tool.ok is not None:
        return Judged("unknown", "result.not_ok", "", f"`{tool.ok.source}` does not hold for this result")
    if "dropped" in found:
        path, _ = found["dropped"]
        return Judged("partial", "result.partial", join(path), "part of the change was not applied")
    if tool is not None and tool.batch is not None and isinstance(value, (Mapping, list)) and value:
        return Judged("ok")  # each item is judged by its own answer, and one without an answer is unknown
    return _without_predicate(value, text, target_ids)


def _without_predicate(value: Any, text: str | None, target_ids: tuple[str, ...]) -> Judged:
    """Judge a write whose contract declares no `ok`: only what plainly says that it happened counts.

    An object counts unless it says of a deed that it was not done (`{"sent": false}`), or holds nothing but prose,
    zeros and blanks. Prose counts where
    it names the entity and no failure. `true` counts; a bare number, list, word or nothing at all shows nothing.
    """
    if isinstance(value, bool):
        return Judged("ok") if value else Judged("unknown", "result.says_false", "", "the result is false")
    if isinstance(value, Mapping):
        denied = next((name for name, item in value.items() if item is False and _is_deed(str(name))), None)
        if denied is not None and True not in [item for item in value.values() if isinstance(item, bool)]:
            return Judged("unknown", "result.says_false", join((str(denied),)), f"`{denied}` is false")
        if any(_tells(item) for item in value.values()):
            return Judged("ok")
        prose = " ".join(item for item in value.values() if isinstance(item, str))
    elif isinstance(value, list):
        if any(isinstance(item, Mapping) and _without_predicate(item, None, ()).outcome == "ok" for item in value):
            return Judged("ok")
        prose = ""
    else:
        prose = text or (value if isinstance(value, str) else "")
    words = prose.lower()
    if words and any(i.lower() in words for i in target_ids if i) and not any(w in words for w in _FAILURE_WORDS):
        return Judged("ok", "result.names_target")
    message = "nothing in the result shows that the write happened; an `ok` in the contract would say what does"
    return Judged("unknown", "result.no_positive_evidence", "", message)


def _is_deed(name: str) -> bool:
    """Return whether a member's name is what was done: sent, paid, `mutation_applied`. Not whether: `is_archived`."""
    word = name.lower().replace("-", "_").rpartition("_")[2]
    asks = name.lower().startswith(("is_", "has_", "was_")) or word in ("required", "needed", "expected", "timed")
    return not asks and (word.endswith("ed") or word in ("sent", "paid", "done", "made", "written", "set", "bought"))


def _tells(item: Any) -> bool:
    """Return whether a member is more than prose, a zero or a blank: an id, a state, a number, true, a record."""
    if isinstance(item, str):
        return bool(item) and not any(ch.isspace() for ch in item.strip())
    return bool(item)


def _is_data(path: tuple[str | int, ...], item: Any) -> bool:
    """Return whether an error marker in a read is what was read: a record's own state, or a row of a listing.

    `{"state": "FAILED"}` of a job that was asked about is a fact about the job; `{"status": "error"}`, `{"error": …}`
    and a false `ok` around the whole answer mean that the read itself failed.
    """
    if any(isinstance(step, int) for step in path):
        return True
    state = str(path[-1]).lower() in _STATE_KEYS
    return state and isinstance(item, str) and item.lower() != "error"


def _inside(path: tuple[str | int, ...], results: tuple[str, ...]) -> bool:
    return len(path) > len(results) and all(w in ("*", str(p)) for p, w in zip(path, results, strict=False))
