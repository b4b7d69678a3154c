"""Which tools write: declared by annotations, a flag or a contract; else a guess from the name, marked as one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from tallystick.audit.findings import ToolUse
from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.model import jsontext

_READS: Final = frozenset(
    {"analyze", "ask", "browse", "calculate", "check", "compare", "compute", "count", "describe", "detect", "diff",
     "download", "estimate", "evaluate", "exists", "explain", "export", "fetch", "filter", "find", "get", "grep",
     "has", "inspect", "is", "list", "load", "lookup", "match", "measure", "monitor", "open", "parse", "peek",
     "ping", "poll", "preview", "query", "quote", "rank", "read", "recommend", "resolve", "retrieve", "review",
     "scan", "search", "select", "show", "simulate", "stat", "status", "suggest", "summarize", "test", "think",
     "track", "translate", "validate", "verify", "view", "wait", "watch", "whoami"}
)  # fmt: skip
_WRITES: Final = frozenset(
    {"abort", "accept", "activate", "add", "adjust", "allocate", "amend", "append", "apply", "approve", "archive",
     "assign", "authorize", "award", "ban", "block", "book", "buy", "cancel", "capture", "change", "charge",
     "checkout", "claim", "close", "commit", "complete", "confirm", "convert", "copy", "create", "credit",
     "deactivate", "debit", "decline", "decrease", "delete", "deny", "deploy", "deposit", "disable", "discard",
     "dispatch", "drop", "edit", "enable", "enroll", "exchange", "execute", "extend", "fail", "file", "fire", "flag",
     "forward", "freeze", "grant", "import", "increase", "insert", "install", "invite", "invoke", "issue", "join",
     "kill", "launch", "lock", "make", "mark", "merge", "modify", "move", "mute", "notify", "order", "patch", "pay",
     "place", "post", "process", "provision", "publish", "purchase", "push", "put", "reboot", "rebook", "redeem",
     "refill", "refund", "register", "reject", "release", "remind", "remove", "rename", "renew", "reopen", "reorder",
     "replace", "reply", "report", "request", "reschedule", "reserve", "reset", "restart", "restore", "return",
     "revert", "revoke", "rotate", "run", "save", "schedule", "seed", "sell", "send", "set", "share", "ship", "sign",
     "start", "stop", "store", "subscribe", "submit", "suspend", "swap", "switch", "sync", "tag", "terminate", "top",
     "transfer", "trigger", "unassign", "unblock", "undo", "unlock", "unsubscribe", "update", "upgrade", "upload",
     "upsert", "void", "waive", "withdraw", "wire", "write"}
)  # fmt: skip
CONFIRMS: Final = frozenset({"confirm", "confirmed", "confirmation", "commit", "execute", "finalize", "apply"})
"""Boolean arguments that, false, ask for a preview of a write."""
REHEARSALS: Final = frozenset({"dry_run", "dryrun", "preview", "preview_only", "simulate", "validate_only", "what_if"})
"""Boolean arguments that, true, ask for a preview of a write."""
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """Return the lower-case words of a tool or argument name (`getOrder`, `get_order`, `orders.get`)."""
    return tuple(w.lower() for w in _WORD.findall(name))


def _guessed(name: str) -> ToolUse:
    words = words_of(name)
    # `get_booking` and `bookings.list` put the verb at either end; the front decides, since `cancel_search` cancels.
    for word in (*words[:1], *words[-1:], *words[1:-1]):
        if word in _READS:
            return ToolUse(effect="read", because=f"its name says `{word}`", guess=True)
        if word in _WRITES:
            return ToolUse(effect="write", because=f"its name says `{word}`", guess=True)
    return ToolUse(effect="unknown", because="nothing says whether it writes", guess=True)


class Tools:
    """Answers what a tool is, the same for every call of it.

    Args:
        writes: names of tools that write; given, tools not named are taken as reads by declaration.
        declared: name -> whether it writes, from annotations or a side file.
        contract: a contract; its tools are declared.
    """

    def __init__(
        self,
        *,
        writes: Iterable[str] | None = None,
        declared: Mapping[str, bool] | None = None,
        contract: Contract | None = None,
    ) -> None:
        self._known: dict[str, ToolUse] = {}
        self._named = frozenset(writes) if writes is not None else None
        for name, does in (declared or {}).items():
            self._declare(name, does, "declared with the tool's schema")
        for name, tool in (contract.tools if contract is not None else {}).items():
            does = tool.effect != "read" or any(effect != "read" for _, effect in tool.effect_cases)
            self._declare(name, does, "declared in the contract")
        for name in self._named or ():
            self._declare(name, True, "named by the caller")

    def _declare(self, name: str, writes: bool, because: str) -> None:
        self._known[name] = ToolUse(effect="write" if writes else "read", because=because, guess=False)

    def use(self, name: str, args: Any = None) -> ToolUse:
        """Return what the tool `name` is. Arguments count only as a last hint: a confirm switch belongs to a write."""
        known = self._known.get(name)
        if known is None:
            if self._named is not None:
                known = ToolUse(effect="read", because="not among the tools named as writing", guess=False)
            else:
                known = _guessed(name)
                if known.effect == "unknown" and isinstance(args, dict):
                    switch = next((k for k in args if k in CONFIRMS or k in REHEARSALS), None)
                    if switch is None:
                        return known  # a later call may carry the switch
                    known = ToolUse(effect="write", because=f"it takes a `{switch}` switch", guess=True)
            self._known[name] = known
        return known


def declared_in(path: str | Path) -> dict[str, bool]:
    """Return name -> whether it writes, from a JSON file of tool schemas.

    Understood: a list of tools or an object with `tools`; each tool with MCP `annotations` (`readOnlyHint`); and,
    beside them, `write_tools`, a list of names, which makes every other tool of the file a read.

    Raises:
        InputError: not readable, not JSON, or nothing in it says which tools write.
    """
    file = Path(path)
    try:
        raw = file.read_bytes()
    except OSError as bad:
        raise InputError(f"cannot be read: {(bad.strerror or str(bad)).lower()}", where=str(file)) from None
    value = jsontext.loads(raw, where=str(file))
    holder = value if isinstance(value, dict) else {}
    listed = holder.get("tools") if holder else value
    found: dict[str, bool] = {}
    named = holder.get("write_tools")
    for tool in listed if isinstance(listed, list) else ():
        inner = tool.get("function", tool) if isinstance(tool, dict) else {}
        name = inner.get("name") if isinstance(inner, dict) else None
        if not isinstance(name, str):
            continue
        hints = tool.get("annotations")
        if isinstance(named, list):
            found[name] = name in named
        elif isinstance(hints, dict) and isinstance(hints.get("readOnlyHint"), bool):
            found[name] = not hints["readOnlyHint"]
    for name in named if isinstance(named, list) else ():
        found.setdefault(str(name), True)
    if not found:
        raise InputError(
            "nothing in the file says which tools write",
            where=str(file),
            fix="give `write_tools: [names]`, or annotations with `readOnlyHint` on each tool",
        )
    return found
