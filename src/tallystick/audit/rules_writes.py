"""What was done to the world: repeated, retried, previewed and committed, rejected and tried again."""

from __future__ import annotations

from typing import Any, Final

from tallystick.audit.case import Case
from tallystick.audit.findings import Severity
from tallystick.audit.step import Step, is_id_name, key_of
from tallystick.audit.support import said

_APPLIED: Final = frozenset(
    {"applied", "applied_changes", "changed", "changed_fields", "changes", "changes_applied", "modified",
     "modified_fields", "updated", "updated_fields"}
)  # fmt: skip


def _named(step: Step) -> str:
    """Return the call for a sentence: tool and the first thing it identifies."""
    name, value = step.primary
    if not name:
        return f"`{step.call.tool}`"
    shown = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return f"`{step.call.tool}` of `{shown[:60]}`"


def repeated(case: Case) -> None:
    """The same write, with the same arguments, succeeded twice.

    Two equal calls can be two wishes: with a user message between them, or another effect that undid the first, it is a
    warning; without either, an error.
    """
    done: dict[tuple[str, Any], list[Step]] = {}
    for step in case.writes:
        if not step.realised or not step.args:
            continue
        alike = done.setdefault((step.call.tool, step.target), [])
        earlier = next((s for s in reversed(alike) if key_of(s) == key_of(step)), None) if alike else None
        alike.append(step)
        if earlier is None:
            continue
        between = any(s.realised and earlier.n < s.n < step.n for s in case.writes)
        severity: Severity = "warning" if between or step.asked > earlier.asked else "error"
        why = (
            "; another write came between"
            if between
            else "; the user spoke in between"
            if step.asked > earlier.asked
            else " with nothing in between"
        )
        case.find(
            "write.repeated",
            severity,
            f"{_named(step)} succeeded twice with the same arguments{why}",
            step=step,
            evidence=(earlier.call.id, step.call.id),
        )


def rejected_again(case: Case) -> None:
    """A write that was rejected was sent again unchanged, with nothing new in between: no user message, no effect."""
    if not any(step.came == "rejected" for step in case.writes):
        return
    refused: dict[tuple[str, bytes, bool], Step] = {}
    again: dict[tuple[str, bytes, bool], list[Step]] = {}
    for step in case.writes:
        if step.realised:
            refused.clear()
        if step.came != "rejected":
            continue
        identity = (step.call.tool, key_of(step), step.rehearsal)
        earlier = refused.get(identity)
        if earlier is None or earlier.asked != step.asked:
            refused[identity] = step
        else:
            again.setdefault(identity, [earlier]).append(step)
    for steps in again.values():
        last = steps[-1]
        case.find(
            "write.rejected_again",
            "error",
            f"{_named(last)} was rejected (`{last.why[1]}`) and sent again unchanged {len(steps) - 1} time(s)",
            step=steps[1],
            evidence=tuple(s.call.id for s in steps),
        )


def retried_in_doubt(case: Case) -> None:
    """A write ended in an error and was sent again without looking: the error may have hidden an effect.

    A declared rejection is an answer; an error is not. Only a read, a preview or the user in between can tell.
    """
    doubt: dict[tuple[str, Any], Step] = {}
    looked = -1
    for step in case.steps:
        if not step.writes or step.came == "preview":
            looked = step.n
            continue
        if step.rehearsal:
            continue
        identity = (step.call.tool, step.target)
        earlier = doubt.get(identity)
        if earlier is not None and looked < earlier.n and earlier.asked == step.asked and step.came != "none":
            done = step.realised
            case.find(
                "write.retried_in_doubt",
                "error" if done else "warning",
                f"{_named(step)} ended in an error (`{earlier.why[1]}`) and was sent again without looking"
                + ("; the second call succeeded" if done else ""),
                step=step,
                evidence=(earlier.call.id, step.call.id),
            )
        if step.came == "error":
            doubt[identity] = step
        else:
            doubt.pop(identity, None)


def previews(case: Case) -> None:
    """Preview and commit: committed unseen, committed otherwise than previewed, or a preview that took effect."""
    if not any(step.switch or step.came == "preview" for step in case.writes):
        return
    shown: dict[tuple[str, Any], list[Step]] = {}
    for step in case.writes:
        identity = (step.call.tool, step.primary)
        if step.rehearsal and step.came == "ok":
            case.find(
                "preview.took_effect",
                "error",
                f"{_named(step)} was asked for a preview (`{step.switch}`) and answered `{_status(step)}`",
                step=step,
                pointer="/result/status",
            )
        elif step.came == "preview":
            shown.setdefault(identity, []).append(step)
        elif step.came == "ok" and shown.get(identity):
            seen = shown[identity]
            _committed(case, step, seen)
            _tried(case, step, [s for s in seen if s.asked == step.asked])


def _status(step: Step) -> str:
    body = step.call.result.body if step.call.result is not None else None
    return str(body.get("status", "")) if isinstance(body, dict) else ""


def _committed(case: Case, step: Step, seen: list[Step]) -> None:
    same = [s for s in seen if key_of(s) == key_of(step)]
    if all(s.asked == step.asked for s in seen):
        case.find(
            "preview.unseen",
            "warning",
            f"{_named(step)} was previewed and committed before the user could see the preview",
            step=step,
            evidence=(seen[-1].call.id, step.call.id),
        )
    if same:
        return
    last = seen[-1].args
    changed = [
        k
        for k, v in step.args.items()
        if k != step.switch and last.get(k) not in (None, "", 0, [], {}) and last.get(k) != v and k in last
    ]
    if changed:
        case.find(
            "preview.differs",
            "warning",
            f"{_named(step)} was committed with another `{changed[0]}` than any preview showed",
            step=step,
            pointer=f"/args/{changed[0]}",
            evidence=(seen[-1].call.id, step.call.id),
        )


def _tried(case: Case, step: Step, seen: list[Step]) -> None:
    """Several values were tried for one argument, with nothing learned between, and an unsupported one committed."""
    for name, value in step.args.items():
        if name == step.switch or value in (None, "", 0) or isinstance(value, (dict, list, bool)) or is_id_name(name):
            continue
        others = [s for s in seen if s.args.get(name) not in (None, "", 0, value)]
        if not others:
            continue
        before = others[0]
        if any(not s.writes and before.n < s.n < step.n for s in case.steps[before.n : step.n]):
            continue
        if said(case, value, step.upto):
            continue
        case.find(
            "args.tried",
            "error",
            f"{_named(step)}: `{value}` was tried as `{name}` after `{before.args[name]}`; no user or tool had said it",
            step=step,
            pointer=f"/args/{name}",
            evidence=(before.call.id, step.call.id),
        )


def results(case: Case) -> None:
    """What a write's result says against itself: success that applied nothing, or another thing than was asked for."""
    for step in case.writes:
        result = step.call.result
        if step.came not in ("ok", "preview") or result is None or type(result.body) is not dict:
            continue
        body = result.body
        for name in _APPLIED & body.keys() if step.realised else ():
            if body[name] == [] and type(body[name]) is list:
                case.find(
                    "result.nothing_applied",
                    "warning",
                    f"{_named(step)} answered `{_status(step)}` and an empty `{name}`",
                    step=step,
                    pointer=f"/result/{name}",
                )
        for name, value in step.target:
            echoed = body.get(name)
            if echoed != value and echoed and type(echoed) is type(value) and type(echoed) in (str, int):
                case.find(
                    "result.other_entity",
                    "error",
                    f"{_named(step)} was answered with `{name}` `{str(echoed)[:60]}`",
                    step=step,
                    pointer=f"/result/{name}",
                )


def calls_in_circles(case: Case) -> None:
    """The same call with the same answer three times or more without anything happening in between."""
    if len(case.steps) - len(case.used) < 2:
        return  # no tool was called three times
    latest: dict[tuple[str, int], Step] = {}
    alike: dict[tuple[str, bytes, int, str], list[Step]] = {}
    for step in case.steps:
        if step.realised:
            latest.clear()
            alike.clear()
            continue
        if step.came == "rejected":
            continue  # `write.rejected_again` speaks about these
        size = (step.call.tool, len(step.said))  # cheaper than the whole answer, and nearly always enough
        earlier = latest.get(size)
        latest[size] = step
        if earlier is None or earlier.said != step.said:
            continue
        run = alike.setdefault((step.call.tool, step.said, step.asked, repr(step.args)), [])
        if not run and earlier.asked == step.asked and earlier.args == step.args:
            run.append(earlier)
        run.append(step)
        if len(run) == 3:
            case.find(
                "call.repeated",
                "info",
                f"`{step.call.tool}` was called three times with the same arguments and the same answer",
                step=step,
                evidence=tuple(s.call.id for s in run),
            )
