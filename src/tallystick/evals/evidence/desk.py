"""The environment: runs a case's tools over its records, mints ids, notes every transition. No I/O, no clock.

It behaves like an ordinary back office, not like a guard: a write whose arguments are well formed, whose records exist
and whose version is current takes effect, whether or not it should have been made.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any, Final

from tallystick.evals.evidence.case import Case, Change, Records, same_value
from tallystick.evals.evidence.world import Action, ReadTool, World, world

AS_OF: Final = "2026-10-31"
"""Date the overnight index shows."""
LIST: Final = "records"


class Desk:
    """One run of a case's environment.

    Args:
        case: the case; or its records with the names of the tools offered.
        seed: secret from which ids are minted; two desks with the same seed and calls mint the same ids, and without
            the seed an id cannot be known before it is returned.
    """

    def __init__(self, case: Case, seed: bytes) -> None:
        self._world: World = world(case.domain)
        self._live = {
            kind: {i: dict(record) for i, record in table.items()} for kind, table in case.records.live.items()
        }
        self._records: Records = case.records
        self._offered = {str(tool["name"]) for tool in case.public.tools}
        self._made: dict[str, dict[str, str]] = {}  # noun → id → request
        self._seed = seed
        self._count = 0

    def call(self, tool: str, args: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Change, ...]]:
        """Return (result, transitions). Whatever is wrong with a call is said in the result as `error`."""
        read = self._world.reads.get(tool)
        action = self._world.actions.get(tool)
        if tool not in self._offered or (read is None and action is None):
            return {"error": f"there is no tool `{tool[:80]}`"}, ()
        if read is not None:
            return self._read(read, args), ()
        assert action is not None
        return self._write(action, args)

    # ------------------------------------------------------------------ reads

    def _read(self, tool: ReadTool, args: Mapping[str, Any]) -> dict[str, Any]:
        kind = self._world.kinds[tool.kind]
        table = self._live.get(tool.kind, {})
        key = "" if tool.every else tool.by or kind.id
        problem = _unfit(args, {key: str} if key else {}, {})
        if problem:
            return {"error": problem}
        if not tool.lists:
            record = table.get(args[key])
            return dict(record) if record is not None else {key: args[key], "found": False}
        rows = [r for r in table.values() if not key or r.get(key) == args[key]]
        if not tool.index:
            return {LIST: [dict(r) for r in rows]}
        old = self._records.index.get(tool.kind, {})
        shown = [{kind.id: r[kind.id], **old.get(r[kind.id], {})} for r in rows]
        return {LIST: shown, "as_of": AS_OF}

    # ------------------------------------------------------------------ writes

    def _write(self, action: Action, args: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Change, ...]]:
        place = self._world
        paths = place.arguments(action)
        cites = {f"{noun}_id": noun for noun in place.cites(action)}
        problem = _unfit(args, dict.fromkeys(paths, (str, int)), cites)
        if problem:
            return {"error": problem}, ()
        for name, path in paths.items():
            alias, _, member = path.partition(".")
            kind = place.kind_of(alias)
            if member == kind.id and args[name] not in self._live.get(kind.name, {}):
                return {"error": f"unknown {name} `{str(args[name])[:80]}`"}, ()
        for name, noun in cites.items():
            if name in args and args[name] not in self._made.get(noun, {}):
                return {"error": f"unknown {name} `{str(args[name])[:80]}`"}, ()
        about = action.subject or ("request" if action.closes else "")
        changes: list[Change] = []
        request = args[place.kinds["request"].id]
        result: dict[str, Any] = {"status": "done", place.kinds["request"].id: request}
        if about:
            kind = place.kind_of(about)
            record = self._live[kind.name][args[kind.id]]
            if "version" in paths and not same_value(args["version"], record["version"]):
                return {"error": f"version conflict: `{str(args['version'])[:80]}` is not current"}, ()
            after = dict(action.sets)
            if action.subject and "version" in record:
                after["version"] = record["version"] + 1
            record.update(after)
            changes = [Change(kind=kind.name, entity=args[kind.id], field=f, value=v) for f, v in after.items()]
            result[kind.name] = {kind.id: args[kind.id], **after}
        made = self._mint(action.prefix)
        self._made.setdefault(action.noun, {})[made] = request
        result[f"{action.noun}_id"] = made
        return result, tuple(changes)

    def _mint(self, prefix: str) -> str:
        self._count += 1
        token = hmac.digest(self._seed, str(self._count).encode("ascii"), "sha256").hex()
        return f"{prefix}-{token[:10]}"


def _unfit(args: Mapping[str, Any], needed: Mapping[str, Any], may: Mapping[str, Any]) -> str:
    """Return what is wrong with the shape of arguments, or ""."""
    for name, kinds in needed.items():
        if name not in args:
            return f"argument `{name}` is missing"
        if not isinstance(args[name], kinds) or isinstance(args[name], bool):
            return f"argument `{name}` has the wrong type"
    for name, value in args.items():
        if name not in needed and name not in may:
            return f"unknown argument `{str(name)[:80]}`"
        if name in may and not isinstance(value, str):
            return f"argument `{name}` has the wrong type"
    return ""
