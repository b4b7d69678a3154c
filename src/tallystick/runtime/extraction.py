"""What is owed beyond the task's own obligations: found by an extractor, checked here, recorded by the host.

An extractor sees what any successor may see, a view of the record and the contract; no evaluator's reference, no world.
What it finds is checked as a whole before anything is frozen: an obligation that cannot be grounded means that nobody
knows what is owed, so there is no contract and no authority (residual completion, section 3.2 step 2).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec

from tallystick.contracts.types import Contract, Tool
from tallystick.errors import InputError
from tallystick.gates.residual import Grounded, ground
from tallystick.gates.residual.sources import Sources
from tallystick.model import jsontext
from tallystick.model.canonical import canonical
from tallystick.model.decision import Reason
from tallystick.model.events import Obliged
from tallystick.model.pointer import join, leaves, split
from tallystick.model.residual import Residual
from tallystick.model.values import EntityRef
from tallystick.runtime.known import args_named, one_of, tool_named
from tallystick.runtime.successors import args_schema
from tallystick.view import CallRecord, EffectRecord, ObligationRecord, View, targets_of
from tallystick.view.obligations import matches

EXTRACTION: Final = "takeover.extraction"
_EXTRACT: Final = (
    "Below is a conversation between a user and an agent that changes things through tools, and what was done. List "
    "every change the user asked for and that is still to be made. Do not list what is done already, and do not list "
    "anything the user did not ask for."
)
_ANSWER: Final = (
    'Answer with a JSON array and nothing else: [{"tool": NAME, "args": {…}, "entity": [KIND, ID], "text": WHY}]. '
    "Leave an argument out where the conversation does not fix it. An empty array says that nothing is left."
)
_MEMBERS: Final = frozenset({"id", "text", "tool", "args", "entity"})


class Extractor(Protocol):
    """Finds what is owed and not recorded as owed yet. May be asynchronous under `Run.atake_over`."""

    def __call__(self, view: View, contract: Contract, /) -> Sequence[Obliged] | Awaitable[Sequence[Obliged]]:
        """Return the obligations to add. What is raised ends the attempt to take over."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Intended:
    """One thing a request asks for: a call of `tool` with these arguments, for `entity` if it names one.

    Arguments that the request leaves open are left out.
    """

    tool: str
    args: Mapping[str, Any]
    entity: EntityRef | None = None
    text: str = ""
    id: str = ""


def structured(intents: Iterable[Mapping[str, Any]]) -> Extractor:
    """Return the deterministic extractor of a structured request: its intents as data, minus what is done or owed.

    Args:
        intents: `{"tool": …, "args": {…}, "entity": [kind, id], "text": …, "id": …}` each; all but `tool` may be left
            out. Two equal ones are two.

    Raises:
        InputError: an intent has another form.
    """
    asked = tuple(_intended(given, f"intent {n}") for n, given in enumerate(intents, 1))

    def extract(view: View, contract: Contract) -> Sequence[Obliged]:
        return owed_by(view, contract, asked)

    return extract


class ModelExtractor:
    """Asks a model what a conversation still owes. The wording of the prompt is ours; the paper publishes none.

    Args:
        ask: sends a prompt and returns the model's text.

    Attributes:
        prompts, answers: what was asked and answered, for who looks into it.
    """

    def __init__(self, ask: Callable[[str], str]) -> None:
        self._ask = ask
        self.prompts: list[str] = []
        self.answers: list[str] = []

    def __call__(self, view: View, contract: Contract) -> Sequence[Obliged]:
        """Return what the model finds, minus what is done or owed already.

        Raises:
            InputError: what it says is not of the form that was asked for.
        """
        prompt = extraction_prompt(view, contract)
        self.prompts.append(prompt)
        said = self._ask(prompt)
        if not isinstance(said, str):
            raise InputError(f"the model's answer is a {type(said).__name__}, no text", where="extraction")
        self.answers.append(said)
        found = jsontext.loads(_json_in(said), where="extraction")
        if not isinstance(found, list):
            raise InputError("the model's answer is no list", where="extraction", fix="a JSON array of intents")
        return owed_by(view, contract, [_intended(given, f"extraction: item {n}") for n, given in enumerate(found, 1)])


def extraction_prompt(view: View, contract: Contract) -> str:
    """Return the prompt that asks for what a conversation owes, restricted to verified entities and declared tools."""
    grounded = ground(view, contract)
    lines = [
        _EXTRACT,
        f"Request: {view.task.request or '(in the conversation)'}",
        *(f"{who}: {text}" for who, text in view.talk),
        "Done already:",
        *(f"- {k.tool} for {' '.join(':'.join(e) for e in k.entities) or 'no entity'}" for k in grounded.kept),
        "Tools, with the JSON Schema of their arguments:",
        *(
            f"- {tool.name}: {tool.description} {jsontext.dumps(args_schema(tool))}"
            for tool in contract.tools.values()
            if _writes(tool)
        ),
        "Entities known to exist (use no others):",
        *(f"- {e.kind} {e.id}" for e in grounded.entities),
        _ANSWER,
    ]
    return "\n".join(lines)


def _json_in(said: str) -> str:
    start, end = said.find("["), said.rfind("]")
    return said[start : end + 1] if 0 <= start < end else said


def _intended(given: object, where: str) -> Intended:
    if not isinstance(given, Mapping):
        raise InputError(f"a {type(given).__name__} is no intent", where=where, fix='{"tool": …, "args": {…}}')
    for name in given:
        one_of("member", name, sorted(_MEMBERS), where)
    tool, args, entity = given.get("tool"), given.get("args", {}), given.get("entity")
    if not isinstance(tool, str) or not tool:
        raise InputError("an intent names no tool", where=where, fix="the tool whose effect is wanted")
    if not isinstance(args, Mapping):
        raise InputError(f"a {type(args).__name__} is no mapping of arguments", where=where, fix="name → value")
    if entity is not None and (
        not isinstance(entity, (list, tuple)) or len(entity) != 2 or not all(isinstance(part, str) for part in entity)
    ):
        raise InputError("the entity is no pair of kind and id", where=where, fix='["invoice", "I-7"]')
    text, name = given.get("text", ""), given.get("id", "")
    return Intended(
        tool=tool,
        args=jsontext.exact(dict(args))[0],
        entity=EntityRef(entity[0], entity[1]) if entity is not None else None,
        text=text if isinstance(text, str) else "",
        id=name if isinstance(name, str) else "",
    )


# ---------------------------------------------------------------- minus K


def owed_by(view: View, contract: Contract, asked: Sequence[Intended]) -> list[Obliged]:
    """Return what is left of the intents once each realised effect and each recorded obligation has met one of them."""
    owed = [o for o in view.obligations.values() if o.kind == "event"]
    spare = [
        effect for name in contract.tools for effect in view.writes(name)
        if effect.status == "done" and not view.undone(effect) and not any(o.discharged_by is effect for o in owed)
    ]  # fmt: skip
    found: list[Obliged] = []
    taken = set(view.obligations)
    for intent in asked:
        tool = contract.tools.get(intent.tool)
        as_effect = _as_effect(tool, intent)
        met = next((o for o in owed if o.tool == intent.tool and matches(o, as_effect)), None)
        if met is not None:
            owed.remove(met)
            continue
        done = next((e for e in spare if e.tool == intent.tool and _meets(intent, e)), None)
        if done is not None:
            spare.remove(done)
            continue
        name = intent.id or _name(intent.tool, taken)
        taken.add(name)
        found.append(
            Obliged(
                id=name,
                text=intent.text,
                tool=intent.tool,
                args=[[arg, jsontext.dumps(value)] for arg, value in sorted(intent.args.items())],
                entity=[*intent.entity] if intent.entity is not None else [],
            )
        )
    return found


def _name(tool: str, taken: set[str]) -> str:
    return next(name for n in range(1, len(taken) + 2) if (name := f"extracted:{tool}:{n}") not in taken)


def _as_effect(tool: Tool | None, intent: Intended) -> EffectRecord:
    targets = targets_of(tool, intent.args) if tool is not None else ()
    if intent.entity is not None and intent.entity not in targets:
        targets = (*targets, intent.entity)
    call = CallRecord(
        "", 0, "", intent.tool, intent.args, None, "write", targets, (), None, None, "", None, None
    )  # fmt: skip
    return EffectRecord("", intent.tool, call, "done")


def _meets(intent: Intended, effect: EffectRecord) -> bool:
    """Return whether a realised effect is what an intent asks for: the same rule as for any obligation."""
    asked = ObligationRecord("", None, "event", intent.tool, intent.entity, intent.args)
    return matches(asked, effect)


# ---------------------------------------------------------------- checks


def extracted_problems(view: View, contract: Contract, found: object) -> tuple[Reason, ...]:
    """Return why what an extractor found cannot be recorded as owed; nothing where it can."""
    if isinstance(found, (str, bytes, Mapping)) or not isinstance(found, Iterable):
        return (_problem(f"the extractor returned a {type(found).__name__}, not a list of obligations", ""),)
    bodies = list(found)
    grounded = ground(view, contract)
    known = _Known(view, contract, grounded)
    reasons: list[Reason] = []
    taken = set(view.obligations)
    for body in bodies:
        if not isinstance(body, Obliged):
            reasons.append(_problem(f"a {type(body).__name__} is no obligation", ""))
            continue
        try:
            canonical(msgspec.to_builtins(msgspec.convert(msgspec.to_builtins(body), Obliged)))
        except (InputError, msgspec.ValidationError, ValueError, TypeError, RecursionError) as bad:
            reasons.append(_problem(f"an obligation that cannot be recorded: {type(bad).__name__}", ""))
            continue
        reasons.extend(_problems(contract, grounded, known, body, taken))
        taken.add(body.id)
    return tuple(reasons)


def _problems(
    contract: Contract, grounded: Grounded, known: _Known, body: Obliged, taken: set[str]
) -> Iterator[Reason]:
    if not body.id or body.id in taken:
        yield _problem(f"`{body.id}` is owed already, or is no id", body.id)
    try:
        tool = contract.tools[tool_named(contract, body.tool, "extraction")]
        args = {name: jsontext.loads(text) for name, text in body.args}
        args_named([tool], args, "extraction")
    except InputError as bad:
        yield _problem(bad.message, body.id)
        return
    except (ValueError, KeyError) as bad:
        yield _problem(f"it cannot be read: {type(bad).__name__}", body.id)
        return
    if not _writes(tool):
        yield _problem(f"`{tool.name}` only reads, so no call of it can discharge anything", body.id)
    if body.entity and body.entity not in [[e.kind, e.id] for e in grounded.entities] and not known.chosen(body.entity):
        yield _problem(f"no live receipt shows the {' '.join(body.entity)}", body.id)
    for name, value in args.items():
        kind = tool.args.get(name)
        if kind is not None:
            try:
                kind.parse(value)
            except ValueError as bad:
                yield _problem(f"argument `{name}` of {tool.name}: {bad}", body.id)
        if not known.holds(tool, name, value):
            yield _problem(f"argument `{name}` of {tool.name}: nothing in the record says its value", body.id)


def _problem(message: str, where: str) -> Reason:
    return Reason(
        code=EXTRACTION,
        message=message,
        where=where,
        reverses="an obligation of a declared tool, with values of the record",
    )


def _writes(tool: Tool) -> bool:
    return tool.effect == "write" or any(effect == "write" for _, effect in tool.effect_cases)


class _Known:
    """The values a record says: in live receipts, choices, the task, and the user's own words."""

    def __init__(self, view: View, contract: Contract, grounded: Grounded) -> None:
        stated = Residual(
            run=view.run, tenure="", upto=view.upto, head=view.head, bindings=list(grounded.bindings),
            kept=list(grounded.kept), entities=list(grounded.entities), receipts=list(grounded.receipts),
            words=list(grounded.words),
        )  # fmt: skip
        self._sources = Sources(view, contract, stated)
        self._choices = [[b.kind, b.id] for b in grounded.bindings]
        self._request = view.task.request

    def chosen(self, entity: list[str]) -> bool:
        return entity in self._choices

    def holds(self, tool: Tool, name: str, value: Any) -> bool:
        """Return whether the record states an argument's value, as for an argument of a proposal; or the request does.

        A reference is data here: an obligation is fixed before anything is proposed.
        """
        return all(
            self._sources.grounds(tool, name, split(join(path)), leaf) or self._asked(leaf)
            for path, leaf in leaves(value)
        )

    def _asked(self, leaf: Any) -> bool:
        text = str(leaf)
        whole = rf"(?<!\w)(?<!\w[-.,/@:]){re.escape(text)}(?!\w)(?![-.,/@:]\w)"
        return text != "" and re.search(whole, self._request) is not None
