"""One call in its place, and what came of it, judged without a contract."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from tallystick.audit.findings import ToolUse
from tallystick.audit.tools import CONFIRMS, REHEARSALS, words_of
from tallystick.model.pointer import join
from tallystick.model.trace import TraceCall
from tallystick.view.outcome import markers

Came = Literal["none", "ok", "preview", "rejected", "error", "pending", "simulated"]
"""What came of a call: no result; success; a preview; a declared rejection; an error of unclear meaning; not final;
a rehearsal that changed nothing."""

_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")
_SORTED: Final = msgspec.json.Encoder(order="sorted", decimal_format="number")
_KEYS: Final = frozenset(
    {"idempotency_key", "idempotencykey", "request_id", "client_request_id", "client_token", "nonce", "dedupe_key",
     "correlation_id", "trace_id", "x_request_id"}
)  # fmt: skip
_ASIDE: Final = _KEYS | CONFIRMS | REHEARSALS
_STATES: Final[dict[str, Came]] = {
    **dict.fromkeys(("preview", "quote", "quoted", "estimate", "draft"), "preview"),
    **dict.fromkeys(("dry_run", "simulated", "simulation"), "simulated"),
    **dict.fromkeys(
        ("rejected", "denied", "declined", "refused", "ineligible", "not_eligible", "invalid", "not_allowed",
         "forbidden", "blocked", "unavailable"), "rejected"),
    **dict.fromkeys(("error", "failed", "failure", "errored"), "error"),
    **dict.fromkeys(
        ("pending", "queued", "in_progress", "in progress", "processing", "running", "submitted", "waiting"),
        "pending"),
}  # fmt: skip
_STATE_NAMES: Final = ("state", "outcome", "result")
_MARKED_KEYS: Final = frozenset(
    spelling
    for key in ("err", "success", "succeeded", "ok", "dry_run", "is_dry_run", "dryrun", "dryRun", "isDryRun",
                "simulated", "is_simulated", "isSimulated", "simulation", "timed_out", "timedOut", "timeout",
                "timedout")
    for spelling in (key, key.capitalize(), key.upper(), key[:1].upper() + key[1:])
)  # fmt: skip
_MARKED: Final = (b"rror", b'"succe', b'"ok"', b"imulat", b"dry", b"Dry", b"fail", b'"err"',
                  b"denied", b"rejected", b"imed")  # fmt: skip
_JUDGED: Final = frozenset(
    {"approved", "calculated", "checked", "completed", "computed", "estimated", "previewed", "quoted", "succeeded",
     "validated", "verified"}
)  # fmt: skip
_FAILED_TEXT: Final = re.compile(
    r"\s*(?:error|failed|failure|exception|traceback|unable to|could ?n[o']t|cannot|can't|access denied"
    r"|permission denied|timed? ?out|request timed out|invalid|not found|rejected|denied|http (?:error )?[45]\d\d)\b",
    re.IGNORECASE,
)
_ID_WORDS: Final = frozenset(
    {"id", "ids", "number", "no", "ref", "reference", "code", "uuid", "guid", "sku", "email", "iban", "account",
     "handle", "key", "phone", "token", "ticket"}
)  # fmt: skip


_AMOUNT_WORDS: Final = frozenset(
    {"amount", "amounts", "price", "total", "cost", "sum", "fee", "fees", "payment", "refund", "balance", "points",
     "value"}
)  # fmt: skip


@lru_cache(maxsize=4096)
def is_id_name(name: str) -> bool:
    """Return whether an argument's name says that its value identifies something."""
    return words_of(name)[-1:] != () and words_of(name)[-1] in _ID_WORDS


class Step(msgspec.Struct, gc=False):
    """One call in its place.

    Attributes:
        call: as imported.
        n: position among all calls of the trace.
        asked: how many user messages came before it.
        use: what its tool was taken to be; `writes` whether that is a write.
        upto: how much of the evidence existed when it was made.
        args: the arguments; `{}` where they could not be read.
        said: its result as evidence text.
        came: what came of it; `realised` whether the result says that something changed.
        why: where the outcome was read (JSON Pointer into the result) and the words there.
        target: the arguments that identify something; `amounts` the names of those that are amounts; `aside` the names
            of switches and idempotency keys.
        key: filled in by `key_of`, which is how to read it.
        rehearsal: its arguments ask for a preview; `switch` is the name of the argument that says so, or says not.
    """

    call: TraceCall
    n: int
    asked: int
    use: ToolUse
    upto: int
    args: dict[str, Any]
    writes: bool
    said: bytes = b""
    came: Came = "none"
    realised: bool = False
    rehearsal: bool = False
    switch: str = ""
    key: bytes = b""
    amounts: tuple[str, ...] = ()
    aside: frozenset[str] = frozenset()
    target: tuple[tuple[str, Any], ...] = ()
    why: tuple[str, str] = ("", "")

    @property
    def primary(self) -> tuple[str, Any]:
        """The first identifying argument: the thing acted on; the tool itself where no argument identifies one."""
        return self.target[0] if self.target else ("", None)


def step_of(call: TraceCall, n: int, asked: int, use: ToolUse, upto: int) -> Step:
    """Return a call in its place, with what came of it."""
    args = call.args
    writes = use.effect == "write"
    step = Step(call, n, asked, use, upto, args if type(args) is dict else {}, writes)
    result = call.result
    if writes and step.args:
        _identify(step, step.args)
    if result is None:
        return step
    body = result.body
    try:
        step.said = said = _ENCODER.encode(body)
    except (UnicodeEncodeError, ValueError, OverflowError, RecursionError):
        step.said = said = repr(body).encode("utf-8", "backslashreplace")
    if not writes:
        step.came = _read_outcome(step, body)
        return step
    came = _write_outcome(step, body, said)
    if came == "ok":
        if step.rehearsal and not _says_done(body):
            came = "preview"
        else:
            step.realised = True
    step.came = came
    return step


@lru_cache(maxsize=4096)
def _shape(names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...], frozenset[str]]:
    """Return which argument names identify something, which are amounts, which may be switches or idempotency keys."""
    ids = tuple(n for n in names if is_id_name(n) and n not in _KEYS)
    amounts = tuple(n for n in names if not _AMOUNT_WORDS.isdisjoint(words_of(n)) and n not in ids)
    return ids, amounts, frozenset(_ASIDE.intersection(names))


def _identify(step: Step, args: dict[str, Any]) -> None:
    """Fill in what the call is about, and whether it only asks for a preview."""
    ids, step.amounts, aside = _shape(tuple(args))
    step.target = tuple([(name, _hashable(args[name])) for name in ids if args[name]])
    for name in aside:
        value = args[name]
        if name in _KEYS:
            continue
        if type(value) is bool:
            step.switch, step.rehearsal = name, value if name in REHEARSALS else not value
        else:
            aside = aside - {name}  # a `preview` that is no switch is an argument like any other
    step.aside = aside


def key_of(step: Step) -> bytes:
    """Return a call's arguments without switches and idempotency keys, canonical: what makes two calls the same."""
    if not step.key:
        kept = {k: v for k, v in step.args.items() if k not in step.aside} if step.aside else step.args
        try:
            step.key = _SORTED.encode(kept)
        except (UnicodeEncodeError, ValueError, OverflowError, RecursionError):
            step.key = repr(kept).encode("utf-8", "backslashreplace")
    return step.key


def _hashable(value: Any) -> Any:
    return value if type(value) is str or type(value) is int else _SORTED.encode(value)


def _write_outcome(step: Step, body: Any, said: bytes) -> Came:
    result = step.call.result
    if result is not None and result.flag == "error":
        step.why = ("", "the result is flagged an error")
        return "error"
    if type(body) is str:
        if _FAILED_TEXT.match(body):
            step.why = ("", body[:200])
            return "error"
        return "ok"
    if type(body) is not dict and type(body) is not list:
        if body is False:
            step.why = ("", "false")
            return "error"
        return "ok"
    came: Came | None = None
    if type(body) is dict:
        stated = body.get("status")
        name = "status"
        if type(stated) is not str:
            name = next((n for n in _STATE_NAMES if type(body.get(n)) is str), "")
            stated = body.get(name)
        came = _STATES.get(stated.lower()) if type(stated) is str else None
        if came is not None:
            reason = body.get("reason") or body.get("message") or body.get("error") or stated
            step.why = (f"/{name}", str(reason)[:200])
            if came != "error":
                return came
    flat = b"{" not in said if type(body) is list else _MARKED_KEYS.isdisjoint(body)
    if flat and b"rror" not in said and b":{" not in said and b":[" not in said:
        return came or "ok"  # flat, and nothing in it that says how it went
    for mark in _MARKED:
        if mark in said:
            return _marked(step, body, came)
    return came or "ok"


def _says_done(body: Any) -> bool:
    """Return whether a status says that something was changed (`updated`), not that a rehearsal went well."""
    status = body.get("status") if type(body) is dict else None
    return type(status) is str and status.lower().endswith("ed") and status.lower() not in _JUDGED


def _marked(step: Step, body: Any, came: Came | None) -> Came:
    """Look for errors at any nesting level; see `view.outcome.markers`."""
    for kind, path, item in markers(body):
        if kind == "error":
            words = item if isinstance(item, str) else _ENCODER.encode(item).decode()
            step.why = (join(path), words[:200])
            return "error"
        if kind == "pending" and item is True:
            step.why = (join(path), "timed out")
            return "error"
        if kind == "dry_run":
            step.why = (join(path), "a rehearsal")
            return "simulated"
        if kind == "limit":
            break
    return came or "ok"


def _read_outcome(step: Step, body: Any) -> Came:
    """A read fails only at its envelope or top level: a status inside is about the thing that was read."""
    result = step.call.result
    if result is not None and result.flag == "error":
        step.why = ("", "the result is flagged an error")
        return "error"
    if type(body) is dict:
        for name in ("error", "errors", "isError", "is_error"):
            if body.get(name):
                step.why = (f"/{name}", str(body[name])[:200])
                return "error"
        if body.get("success") is False or body.get("ok") is False:
            step.why = ("/success", "false")
            return "error"
    elif type(body) is str and _FAILED_TEXT.match(body):
        step.why = ("", body[:200])
        return "error"
    return "ok"
