"""Reference paths: how a case is solved, from nothing but what its public part and its tools tell.

A path is planned with the private specification in hand (which record is the right one), but every argument it uses
must have been seen before: in the task text, or in an earlier result. What cannot be reached so is a defect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from tallystick.evals.evidence.case import SUBMIT, ActionSpec, Case, Evidence, Source
from tallystick.evals.evidence.desk import Desk

_WORD: Final = re.compile(r"[A-Za-z]{2}-[0-9a-f]{4,12}|`[^`]+`")
Order = Literal["first", "last"]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a path. `cites` maps arguments to the node whose actual result they take when the step is made."""

    tool: str
    args: dict[str, Any]
    node: str = ""
    cites: dict[str, str] = {}
    makes: str = ""


class UnsolvableError(Exception):
    """A case cannot be solved from its public part; says what cannot be reached."""


def reads(case: Case, *, prefer: Order = "first", needs: Iterable[str] | None = None) -> list[Step]:
    """Return the reads that establish the evidence (`needs`, or all of it), in an order in which each can be made.

    Args:
        case: the case.
        prefer: which of several acceptable sources is taken: the first listed, or the last.
        needs: ids of the evidence wanted.

    Raises:
        UnsolvableError: something cannot be reached.
    """
    wanted = [e for e in case.private.evidence if needs is None or e.id in set(needs)]
    desk = Desk(case, b"plan")
    seen = set(words(case.public.text))
    for tool in case.public.tools:
        seen |= set(words(str(tool["description"])))
    steps: list[Step] = []
    open_ = list(wanted)
    while open_:
        source = _next(open_, seen, prefer)
        step = _step(source) if source is not None else _discovery(case, open_, seen, steps)
        result, _ = desk.call(step.tool, step.args)
        seen |= set(strings(result))
        steps.append(step)
        open_ = [e for e in open_ if not any(s.tool == step.tool and s.args == step.args for s in e.sources)]
    return steps


def _next(open_: Sequence[Evidence], seen: set[str], prefer: Order) -> Source | None:
    for evidence in open_:
        sources = evidence.sources if prefer == "first" else evidence.sources[::-1]
        for source in sources:
            if all(v in seen for v in source.args.values()):
                return source
    return None


def _step(source: Source) -> Step:
    return Step(tool=source.tool, args=dict(source.args))


def _discovery(case: Case, open_: Sequence[Evidence], seen: set[str], done: list[Step]) -> Step:
    """Return a search that brings an id nearer which no acceptable source can be asked for yet."""
    kinds = {e.kind for e in open_}
    made = {(s.tool, tuple(s.args.items())) for s in done}
    order = sorted(case.private.readers.items(), key=lambda item: item[1].kind not in kinds)
    for name, reader in order:
        parameters = next(t["parameters"]["properties"] for t in case.public.tools if t["name"] == name)
        for args in _candidates(case, list(parameters), seen, reader.kind):
            if (name, tuple(args.items())) not in made:
                return Step(tool=name, args=args)
    missing = ", ".join(sorted({f"{e.kind} {e.entity}" for e in open_}))
    raise UnsolvableError(f"{case.id}: cannot reach {missing}")


def _candidates(case: Case, keys: list[str], seen: set[str], kind: str) -> Iterator[dict[str, Any]]:
    if not keys:
        yield {}
        return
    table = case.records.live.get(kind, {})
    for record in table.values():
        if record.get(keys[0]) in seen:
            yield {keys[0]: record[keys[0]]}


def actions(case: Case, order: Sequence[str] | None = None) -> list[Step]:
    """Return the supported actions in the order given by node names, or in the specification's own."""
    by_node = {a.node: a for a in case.private.actions}
    return [act(by_node[node]) for node in order or by_node]


def act(spec: ActionSpec) -> Step:
    """Return the step that makes an action."""
    return Step(tool=spec.tool, args=dict(spec.args), node=spec.node, cites=dict(spec.cites), makes=spec.makes)


def end(label: str) -> Step:
    """Return the step that submits a label."""
    return Step(tool=SUBMIT, args={"label": label})


def reference(case: Case) -> list[Step]:
    """Return the reference path: all reads, then the actions, then the label."""
    return [*reads(case), *actions(case), end(case.private.label)]


def lazy(case: Case) -> list[Step]:
    """Return a path that reads only just before each action, takes the last source of each, and goes another order."""
    order = other_order(case)
    if not order:
        return [*reads(case, prefer="last"), end(case.private.label)]
    steps: list[Step] = []
    by_node = {a.node: a for a in case.private.actions}
    done: set[tuple[str, str]] = set()
    needed: list[str] = []
    for node in order:
        needed += by_node[node].needs
        for step in reads(case, prefer="last", needs=needed):
            key = (step.tool, str(step.args))
            if key not in done:
                done.add(key)
                steps.append(step)
        steps.append(act(by_node[node]))
    return [*steps, end(case.private.label)]


def other_order(case: Case) -> list[str]:
    """Return the nodes in a topological order that differs from the specification's where there is another."""
    left = {a.node: set(a.cites.values()) for a in case.private.actions}
    out: list[str] = []
    while left:
        ready = [node for node, before in left.items() if before <= set(out)]
        out.append(ready[-1])
        del left[ready[-1]]
    return out


def alternative(case: Case) -> list[Step] | None:
    """Return the path that takes the last acceptable source of everything, or None where no other source is offered."""
    if all(len(e.sources) < 2 for e in case.private.evidence):
        return None
    return [*reads(case, prefer="last"), *actions(case), end(case.private.label)]


def words(text: str) -> Iterator[str]:
    """Yield the ids and quoted names in a text."""
    for found in _WORD.findall(text):
        yield found.strip("`")


def strings(value: Any) -> Iterator[str]:
    """Yield every string in a result."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from strings(item)
