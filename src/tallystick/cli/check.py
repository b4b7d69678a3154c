"""`tallystick check`: is this a valid contract? Every problem at once, with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer

from tallystick import contracts
from tallystick.cli import console
from tallystick.cli.console import Json
from tallystick.contracts.terms import sources
from tallystick.contracts.types import Contract, Tool
from tallystick.errors import ContractError, InputError, Problem
from tallystick.gates.certify.demand import needs_all

# The empty text is a contract to the library (nothing declared, so nothing consequential runs); in a file it is a slip.
_EMPTY: Final = Problem(line=1, column=1, pointer="", message="the file is empty", fix="start with `contract: NAME/1`")


def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Contract files, YAML or JSON.")],
    json: Json = False,
) -> int:
    """Check contracts: syntax, names, types, expressions. Exits with 2 where one is invalid.

    Each problem is a line `file:line:column: place: what is wrong (fix: what would be right)`. What a valid contract
    leaves unsaid about what a certificate is worth is a note, and changes no exit code.
    """
    results = []
    for file in files:
        try:
            contract = contracts.load(file)
            if contract is contracts.EMPTY:
                raise ContractError((_EMPTY,), source=str(file))
        except ContractError as bad:
            problems: list[dict[str, Any]] = [msgspec.to_builtins(p) for p in bad.problems]
            results.append({"file": str(file), "ok": False, "problems": problems})
            if not json:
                for problem in bad.problems:
                    console.complain(f"{file}:{problem}")
        except InputError as bad:  # not there, or not readable: the others are checked all the same
            unread = Problem(line=0, column=0, pointer="", message=bad.message, fix=bad.fix)
            results.append({"file": str(file), "ok": False, "problems": [msgspec.to_builtins(unread)]})
            if not json:
                console.complain(str(bad))
        else:
            summary = _summary(contract)
            notes = _notes(contract)
            results.append({"file": str(file), "ok": True, **summary, "problems": [], "notes": notes})
            if not json:
                console.say(f"{file}: {summary['contract']}, {_counts(summary)}")
                for note in notes:
                    console.note(f"{file}: note: {note}")
    if json:
        console.emit({"ok": all(r["ok"] for r in results), "files": results})
    return 0 if all(r["ok"] for r in results) else 2


def _notes(contract: Contract) -> list[str]:
    """Return what is allowed, and makes a certificate say less than its reader may think."""
    notes = []
    if not contract.owes and not contract.answer:
        notes.append(
            "it owes nothing and asks no answer, so a run under it is certified for what it claims, even where it did "
            "nothing; `task: owes:` says what must have happened, `task: answer:` what must be answered"
        )
    bare = sorted(t.name for t in contract.tools.values() if t.ok is None and _may_write(t))
    if bare:
        one = len(bare) == 1
        notes.append(
            f"{', '.join(f'`{name}`' for name in bare)} {'writes' if one else 'write'} without `ok`, so whether it "
            "happened is judged by what the result looks like; `ok:` says what a good result is"
        )
    unlisted: dict[str, list[str]] = {}
    for slot in contract.answer:
        for function, source in sources(slot.derive.term):
            tool = contract.tools.get(source.tool)
            if tool is not None and tool.complete is None and needs_all(slot, function, source, tool):
                unlisted.setdefault(tool.name, []).append(f"`{slot.name}`")
    for name, slots in unlisted.items():
        notes.append(
            f"no claim of {', '.join(dict.fromkeys(slots))} can be accepted: nothing may be left out, and nothing says "
            f"when an answer of `{name}` is whole; `complete: always` says that it always is"
        )
    return notes


def _may_write(tool: Tool) -> bool:
    return tool.effect == "write" or any(effect == "write" for _, effect in tool.effect_cases)


def _summary(contract: Contract) -> dict[str, Any]:
    writes = [t.name for t in contract.tools.values() if t.effect != "read" or t.effect_cases]
    return {
        "contract": f"{contract.name}/{contract.version}",
        "sha256": contract.sha256,
        "tools": len(contract.tools),
        "writes": sorted(writes),
        "conditions": len(contract.conditions),
        "obligations": len(contract.owes),
        "answers": len(contract.answer),
    }


def _counts(summary: dict[str, Any]) -> str:
    return ", ".join(
        (
            f"{console.counted(summary['tools'], 'tool')} ({len(summary['writes'])} write)",
            console.counted(summary["conditions"], "condition"),
            console.counted(summary["obligations"], "obligation"),
            console.counted(summary["answers"], "answer slot"),
        )
    )
