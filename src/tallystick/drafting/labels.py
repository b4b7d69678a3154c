"""Which trajectories are good: labels that the user passes, and nothing else. No answer key is ever opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.trace import Trace

_NAMES: Final = ("trajectory", "trace", "id", "name")
_GOOD: Final = ("good", "ok", "state_ok", "passed", "success", "correct")
_GROUPS: Final = ("domain", "folder")

Labels = Mapping[tuple[str, str], bool]
"""(folder or "", trace id) → whether it is good."""


def read_labels(path: str | Path) -> Labels:
    """Return the labels of a file: JSON Lines (or a list) of objects with a name and a verdict, or one object of both.

    Understood: `{"trajectory": "t-1", "state_ok": true}` with names `trajectory`, `trace`, `id` or `name` and verdicts
    `good`, `ok`, `state_ok`, `passed`, `success` or `correct`; `domain` names the folder, where names repeat. Or
    `{"t-1": true, "t-2": false}`.

    Raises:
        InputError: the file cannot be read or understood, or contradicts itself.
    """
    file = Path(path)
    try:
        raw = file.read_bytes()
    except OSError as bad:
        raise InputError(f"cannot be read: {(bad.strerror or str(bad)).lower()}", where=str(file)) from None
    found: dict[tuple[str, str], bool] = {}
    for where, row in _rows(raw, file):
        for key, good in _labels(row, where):
            if found.setdefault(key, good) != good:
                raise InputError(f"`{key[1][:80]}` is labelled both ways", where=where)
    if not found:
        raise InputError("no labels in the file", where=str(file), fix='lines like {"trajectory": "t-1", "ok": true}')
    return found


def _rows(raw: bytes, file: Path) -> list[tuple[str, Any]]:
    try:
        value = jsontext.loads(raw, where=str(file))
    except InputError:
        lines = [(f"{file}:{n}", line) for n, line in enumerate(raw.splitlines(), 1) if line.strip()]
        if len(lines) < 2:
            raise
        return [(where, jsontext.loads(line, where=where)) for where, line in lines]
    if isinstance(value, list):
        return [(f"{file}: item {n}", row) for n, row in enumerate(value)]
    return [(str(file), value)]


def _labels(row: Any, where: str) -> list[tuple[tuple[str, str], bool]]:
    if not isinstance(row, dict):
        raise InputError("a label is not an object", where=where, fix='{"trajectory": "t-1", "ok": true}')
    name = next((row[k] for k in _NAMES if isinstance(row.get(k), str)), None)
    good = next((row[k] for k in _GOOD if isinstance(row.get(k), bool)), None)
    if name is not None and good is not None:
        group = next((row[k] for k in _GROUPS if isinstance(row.get(k), str)), "")
        return [((group, name), good)]
    if row and all(isinstance(v, bool) for v in row.values()):
        return [(("", k), v) for k, v in row.items()]
    missing = f"a name ({', '.join(_NAMES)})" if name is None else f"a verdict ({', '.join(_GOOD)})"
    raise InputError(f"a label has no {missing}", where=where, fix='{"trajectory": "t-1", "ok": true}')


def chosen(traces: Sequence[Trace], labels: Labels | None, only: Sequence[str] | None) -> list[Trace]:
    """Return the good traces.

    Args:
        traces: all of them.
        labels: of `read_labels`; a trace without a label is left out.
        only: ids of the good ones.

    Raises:
        InputError: an id names no trace, or none is left.
    """
    if only is not None:
        unknown = [name for name in only if name not in {t.id for t in traces}]
        if unknown:
            raise InputError(f"no trace is called `{unknown[0][:80]}`", fix="the ids are the file names without ending")
        found = [t for t in traces if t.id in only]
    elif labels is not None:
        found = [t for t in traces if labels.get((Path(t.source).parent.name, t.id), labels.get(("", t.id))) is True]
    else:
        found = list(traces)
    if not found:
        raise InputError("no good trajectory is left to learn from", fix="labels that name these traces")
    return found
