"""Whether the tools a caller names are the tools these traces call: looked at first, so that a slip is one error.

Without it, a misspelled `--writes` makes every tool a read, and the contract of other tools refuses every call.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.traces.files import read
from tallystick.traces.formats import AUTO


def tools_called(paths: Sequence[str | Path], format: str = AUTO) -> Iterator[str]:  # noqa: A002 - the option's name
    """Yield the name of each tool that is called under `paths`, once. What cannot be read is passed over here."""
    seen: set[str] = set()
    for path in paths:
        try:
            for trace in read(path, format):
                for call in trace.calls:
                    if call.tool not in seen:
                        seen.add(call.tool)
                        yield call.tool
        except (InputError, OSError, RuntimeError):
            continue  # the audit itself says what is wrong with it


def check_writes(names: Iterable[str], called: Iterable[str]) -> list[str]:
    """Return those of the tools `names` that no trace calls, where that can be meant.

    Raises:
        InputError: no trace calls any of them, or one is a slip of a tool that is called.
    """
    missing = dict.fromkeys(names)
    met: list[str] = []
    found = False
    for tool in called:
        met.append(tool)
        if tool in missing:
            found = True
            del missing[tool]
            if not missing:
                return []
    for name in missing:
        near = difflib.get_close_matches(name, met, n=1, cutoff=0.75)
        if near:
            raise InputError(f"no trace calls `{name}`", where="--writes", fix=f"did you mean `{near[0]}`?")
    if missing and met and not found:
        named = ", ".join(f"`{name}`" for name in missing)
        raise InputError(f"no trace calls {named}", where="--writes", fix=f"the traces call {_some(met)}")
    return list(missing)


def check_contract(contract: Contract, where: str, called: Iterable[str]) -> None:
    """Hold that the contract is about these traces.

    Raises:
        InputError: they call tools, and the contract mentions none of them.
    """
    met: list[str] = []
    for tool in called:
        if tool in contract.tools:
            return
        met.append(tool)
    if met:
        raise InputError(
            "the contract mentions none of the tools in these traces",
            where=where,
            fix=f"give the contract of {_some(met)}",
        )


def _some(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in sorted(names)[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
