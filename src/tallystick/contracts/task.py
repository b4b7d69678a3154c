"""Tasks: what one run owes, from YAML, JSON or Python, and back to the JSON text that a run stores."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path as FilePath
from typing import Any

from tallystick.contracts.build import file_bytes
from tallystick.contracts.exact import exact, like
from tallystick.contracts.problems import Report
from tallystick.contracts.structure import TASK_FILE
from tallystick.contracts.types import Contract, Principal, Task
from tallystick.contracts.yamltext import Text, decode, read
from tallystick.errors import ContractError, InputError, Problem
from tallystick.model import jsontext
from tallystick.model.values import Money, Quantity, plain


def load_task(source: FilePath | str | bytes | Mapping[str, Any], contract: Contract) -> Task:
    """Return the task a file, a text or Python values state, with its bindings read under the contract's inputs.

    Args:
        source: a `pathlib.Path` names a file; a string or bytes are the YAML or JSON text itself ("" is the empty
            task); a mapping has the same keys.
        contract: whose `task: inputs:` give the types.

    Raises:
        InputError: the file cannot be read.
        ContractError: not a valid task for this contract; carries every problem found.
    """
    name: str | None = None
    if isinstance(source, Mapping):
        try:
            text = read(jsontext.dumps(dict(source)))
        except InputError as bad:
            problem = Problem(line=0, column=0, pointer="", message=bad.message)
            raise ContractError((problem,), what="task") from None
    else:
        raw = source if isinstance(source, (str, bytes)) else file_bytes(source)
        name = str(source) if isinstance(source, FilePath) else None
        plain_text = decode(raw, name)
        text = read(plain_text, name) if plain_text.strip() else Text({})
    report = Report(text, name, "task")
    if isinstance(text.value, str):
        said = text.value if len(text.value) <= 60 else text.value[:59] + "…"
        words = jsontext.dumps({"request": said})
        raise ContractError(
            (Problem(line=0, column=0, pointer="", message=f"`{said}` is no task: words alone say nothing that is owed",
                     fix=f"{words} for the requester's words; a `pathlib.Path` for a file"),),
            source=name, what="task",
        )  # fmt: skip
    if isinstance(text.value, Mapping):
        for key in text.value:
            if key in contract.inputs and key not in TASK_FILE.known:
                report.add(
                    (key,), f"`{key}` is a task input", f"put it under `bindings`: {{bindings: {{{key}: …}}}}", key=True
                )
        report.close()
    TASK_FILE.check(text.value, (), report)
    report.close()
    task = _task(text.value, contract, report)
    report.close()
    return task


def _task(value: Mapping[str, Any], contract: Contract, report: Report) -> Task:
    stated = value.get("bindings", {})
    bindings: dict[str, Any] = {}
    for name in stated:
        if name not in contract.inputs:
            report.unknown(("bindings", name), "task input", name, contract.inputs)
    for name, type_ in contract.inputs.items():
        if name not in stated:
            if not type_.optional:
                report.add(("bindings",), f"the task input `{name}` is missing", f"give it, as {like(type_)}")
            continue
        try:
            bindings[name] = exact(type_, stated[name], stated)
        except ValueError as bad:
            report.add(("bindings", name), str(bad), f"give it as {like(type_)}")
    principals = tuple(
        Principal(id=p["id"], role=p["role"], public_key=bytes.fromhex(p["public_key"]))
        for p in value.get("principals", ())
    )
    seen: set[str] = set()
    for i, principal in enumerate(principals):
        if principal.id in seen:
            report.add(("principals", i, "id"), f"`{principal.id}` is named twice")
        seen.add(principal.id)
    return Task(
        request=value.get("request", ""),
        bindings=bindings,
        principals=principals,
        need_answer=value.get("need_answer", True),
    )


def task_text(task: Task) -> str:
    """Return the JSON text of a task: `load_task` of it, under the same contract, gives an equal task.

    Raises:
        InputError: a binding is not a value a contract's input can have.
    """
    return jsontext.dumps(
        {
            "request": task.request,
            "bindings": {name: _json(value) for name, value in task.bindings.items()},
            "principals": [{"id": p.id, "role": p.role, "public_key": p.public_key.hex()} for p in task.principals],
            "need_answer": task.need_answer,
        }
    )


def _json(value: Any) -> Any:
    # Each form is one that the value's own type reads back as the same value.
    if isinstance(value, Money):
        return f"{plain(value.amount)} {value.currency}"
    if isinstance(value, Quantity):
        return f"{plain(value.amount)} {value.unit}"
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, (frozenset, set)):
        return sorted((_json(v) for v in value), key=repr)
    if isinstance(value, (list, tuple)):
        return [_json(v) for v in value]
    if isinstance(value, Mapping):
        return {k: _json(v) for k, v in value.items()}
    return value
