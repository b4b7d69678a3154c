"""What a model successor is told of a run it takes over: the words, the calls and what they returned, the contract."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tallystick.model import jsontext
from tallystick.model.residual import Residual
from tallystick.runtime.outcome import reasons_json
from tallystick.view import View

LONGEST: Final = 1_500
"""Characters of one result that are shown; a list of a hundred flights would fill a small model's context."""


def shown(result: Any) -> str:
    """Return a result as it is shown to a model."""
    try:
        text = result if isinstance(result, str) else jsontext.dumps(jsontext.exact(result)[0])
    except Exception:  # noqa: BLE001 - a result without a JSON form is shown as Python writes it
        text = repr(result)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def history(view: View) -> str:
    """Return what happened so far, as text; nothing of it says what is owed."""
    lines = [f"The request: {view.task.request}"] if view.task.request else []
    lines += [f"{who}: {text}" for who, text in view.talk]
    lines += [
        f"called {call.tool} {jsontext.dumps(dict(call.args))} -> "
        + (shown(call.receipts[-1].value) if call.receipts and call.receipts[-1].value is not None else "no answer")
        for call in view.calls.values()
    ]
    return "So far:\n" + "\n".join(lines) if lines else ""


def contract_words(residual: Residual) -> str:
    """Return a residual contract in words, for a successor that acts call by call."""
    return "\n".join(_words(residual))


def _words(z: Residual) -> Iterator[str]:
    if z.bindings:
        yield "Fixed, and to be kept: " + "; ".join(
            f"{b.kind} {b.id}".strip() or f"{b.name} {b.value}" for b in z.bindings
        )
    for kept in z.kept:
        about = " ".join(f"{kind} {name}" for kind, name in kept.entities)
        yield f"Done already, never again: {kept.tool} {about}".rstrip()
    for owed in z.owed:
        about = " ".join(owed.entity)
        yield f"Still owed: {owed.text or owed.id} (by {' or '.join(owed.tools) or 'a fact'} {about})".replace(
            " )", ")"
        )


def feedback_words(feedback: Any) -> str:
    """Return why an earlier proposal was not carried out, as text."""
    return "\n".join(f"- {jsontext.dumps(one)}" for one in reasons_json(tuple(feedback)))
