"""A model as prefix, successor or whole agent: one loop of tool calls, whatever stands behind the port.

Asked for a whole proposal it acts on the replica in the same loop, and what worked there is its proposal: the bridge
then binds the replica's values to their sources. Prompts are ours; the paper publishes none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.evals.lifecycle.suite.asking import CONTEXT_FULL, Deployment
from tallystick.evals.takeover.costs import Phase, Usage
from tallystick.evals.takeover.ports import Port, Seen, troubled
from tallystick.evals.takeover.surface import Frontier, Proposal
from tallystick.evals.takeover.telling import contract_words, feedback_words, history, shown
from tallystick.model import jsontext
from tallystick.model.pointer import join, leaves
from tallystick.model.residual import AT, FROM, Residual
from tallystick.models import is_local
from tallystick.runtime.successors import args_schema
from tallystick.view import View

TURNS: Final = 10
"""Most requests to a model in one go."""
STEP_TOKENS: Final = 96
"""Longest step under a schema."""
STUCK: Final = 2
"""Steps in a row that repeat the one before or do not end, after which a small model has left."""
FINISH: Final[Mapping[str, Any]] = {
    "name": "finish",
    "description": "Say that the task is finished.",
    "parameters": {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "what to tell the requester"},
            "claims": {"type": "object", "description": "the values asked for, by name"},
        },
        "required": ["text"],
    },
}
_SYSTEM: Final = (
    "You act only through the tools, one step at a time. Amounts are strings such as `420.00`. When the task is"
    " finished, call `finish` with a sentence for the requester and the values asked for. If a call or `finish` is"
    " refused, read the reasons and do what would help."
)


class Unanswered(InputError):  # noqa: N818 - it is the absence of an answer, and read as such
    """The endpoint did not answer; the episode is not counted, and is played again."""


@dataclass
class Model:
    """One model in one episode.

    Args:
        deployment: who answers.
        request: what the requester asked.
        tools: name → JSON Schema of the arguments.
        descriptions: name → what the tool is for.
        phase: what its requests are booked under.
        structured: each step is asked for as one JSON object under a schema of the tools, for models that are too small
            to call tools of their own accord: the shape is given, the content is the model's.
    """

    deployment: Deployment
    request: str
    tools: Mapping[str, Any]
    descriptions: Mapping[str, str] = field(default_factory=dict)
    phase: Phase = "residual"
    structured: bool = False
    tokens: int = 0
    usages: list[Usage] = field(default_factory=list)

    def act(self, port: Port, *, view: View | None = None, residual: Residual | None = None, told: str = "") -> None:
        """Act call by call until it says done, stops calling, or its turns are spent."""
        parts = [
            told,
            history(view) if view is not None else "",
            contract_words(residual) if residual is not None else "",
        ]
        self._loop(port, "\n\n".join(part for part in parts if part), self.tools)

    def __call__(self, brief: Any) -> Proposal | None:
        """Write a whole proposal: on the replica where there is one, else as JSON in one reply."""
        before = self.tokens
        told = [_evidence(brief), contract_words(brief.residual)]
        if brief.slots:
            told.append("`finish` must state: " + "; ".join(f"{name} ({words})" for name, words in brief.slots.items()))
        if brief.feedback:
            told.append("Your earlier plan was not carried out:\n" + feedback_words(brief.feedback))
        if brief.replica is None:
            proposal = self._written(brief)
        else:
            port = _Trial(brief.replica)
            told.append("You try this out on a copy: nothing is real yet. What works there is your plan.")
            self._loop(
                port, "\n\n".join(told), {name: self.tools[name] for name in brief.schemas if name in self.tools}
            )
            proposal = port.proposal()
        brief.tokens += self.tokens - before
        return proposal

    def _written(self, brief: Any) -> Proposal:
        said = self._ask([{"role": "user", "content": brief.prompt()}], ())
        start, end = said.text.find("{"), said.text.rfind("}")
        try:
            found = jsontext.loads(said.text[start : end + 1]) if 0 <= start < end else None
        except InputError:
            found = None
        return found if isinstance(found, dict) else {"calls": [], "answer": {}}

    def _loop(self, port: Port, told: str, tools: Mapping[str, Any]) -> None:
        functions = [
            {"name": name, "description": self.descriptions.get(name, ""), "parameters": schema}
            for name, schema in tools.items()
        ]
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": _SYSTEM},
            {"role": "user", "content": "\n\n".join(part for part in (self.request, told) if part)},
        ]
        if self.structured:
            self._steps(port, messages, [*functions, FINISH])
            return
        for turn in range(TURNS):
            said = self._ask(messages, [*functions, FINISH])
            if said.failure == CONTEXT_FULL:
                return
            if not said.calls:
                seen = port.finish(said.text, {})  # words without a call are how a model says that it is done
                if seen.over or not seen.refused:
                    return
                messages += [{"role": "assistant", "content": said.text}, {"role": "user", "content": seen.error}]
                continue
            ids = [f"call-{turn}-{n}" for n in range(len(said.calls))]
            messages.append(
                {
                    "role": "assistant",
                    "content": said.text or None,
                    "tool_calls": [
                        {"id": name, "type": "function", "function": {"name": c.tool, "arguments": c.raw}}
                        for name, c in zip(ids, said.calls, strict=True)
                    ],
                }
            )
            for name, call in zip(ids, said.calls, strict=True):
                seen = self._made(port, call.tool, call.raw)
                if seen.over:
                    return
                words = seen.error or shown(seen.result)
                messages.append({"role": "tool", "tool_call_id": name, "content": words})

    def _steps(self, port: Port, messages: list[dict[str, Any]], functions: Sequence[Mapping[str, Any]]) -> None:
        """One JSON object a step: `{"tool": NAME, "args": {…}}`."""
        listed = "\n".join(
            f"- {f['name']}({', '.join(f['parameters'].get('properties', {}))}): {f['description']}" for f in functions
        )
        messages[0]["content"] += "\nThe tools:\n" + listed
        last, stuck = "", 0
        for _ in range(TURNS):
            said = self._ask(messages, (), {"response_format": _one_of(functions), "max_tokens": STEP_TOKENS})
            # At temperature 0 a step that is said again, or that never ends, will be for ever.
            stuck = stuck + 1 if said.text == last or said.cut else 0
            last = said.text
            if said.failure == CONTEXT_FULL or stuck >= STUCK:
                return
            try:
                step = jsontext.loads(said.text)
                seen = self._made(port, str(step["tool"]), jsontext.dumps(step["args"]))
            except (InputError, TypeError, KeyError):  # cut off by its length
                seen = Seen(error="that was no whole JSON object")
            if seen.over:
                return
            words = seen.error or shown(seen.result)
            messages += [{"role": "assistant", "content": said.text}, {"role": "user", "content": words}]

    @staticmethod
    def _made(port: Port, tool: str, raw: str) -> Seen:
        try:
            args = jsontext.loads(raw)
        except InputError as bad:
            return Seen(error=f"the arguments cannot be read: {bad.message}")
        if not isinstance(args, dict):
            return Seen(error="the arguments are not a JSON object")
        if tool != "finish":
            return port.call(tool, args)
        claims = args.get("claims")
        return port.finish(str(args.get("text", "")), claims if isinstance(claims, dict) else {})

    def _ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        extra: Mapping[str, Any] | None = None,
    ) -> Any:
        said = self.deployment.ask(messages, tools, 0, extra)
        if said.failure and said.failure != CONTEXT_FULL:
            raise Unanswered(said.failure, where=self.deployment.name, fix="start it again; it goes on from here")
        self.tokens += said.tokens_in + said.tokens_out
        self.usages.append(
            Usage(model=self.deployment.name, phase=self.phase, input=said.tokens_in, output=said.tokens_out)
        )
        return said


def model_for(deployment: Deployment, frontier: Frontier) -> Model:
    """Return a model as the successor of a frontier: the tools of its contract, and nothing of its gold."""
    tools = frontier.contract.tools
    schemas = {name: frontier.schemas.get(name) or args_schema(tool) for name, tool in tools.items()}
    # The request is in the run's record, which the model is told as what happened; a system line is all it needs here.
    return Model(
        deployment=deployment, request="Finish this task.", tools=schemas,
        descriptions={name: tool.description for name, tool in tools.items()}, structured=is_local(deployment.name),
    )  # fmt: skip


def _one_of(functions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the response format of one step: one of the tools, with arguments of its schema."""
    steps = [
        {
            "type": "object",
            "properties": {"tool": {"const": f["name"]}, "args": {"type": "object", **f["parameters"]}},
            "required": ["tool", "args"],
            "additionalProperties": False,
        }
        for f in functions
    ]
    return {"type": "json_schema", "json_schema": {"name": "step", "strict": True, "schema": {"anyOf": steps}}}


class _Trial:
    """A replica as a port. What worked is kept as the proposal; what failed is not proposed."""

    def __init__(self, replica: Any) -> None:
        self._replica = replica
        self._worked: list[tuple[str, Mapping[str, Any], Any]] = []
        self._said: tuple[str, Mapping[str, Any]] = ("", {})

    def call(self, tool: str, args: Mapping[str, Any]) -> Seen:
        result = self._replica.call(tool, args)
        if not troubled(result):
            self._worked.append((tool, args, result))
        return Seen(result=result)

    def finish(self, text: str, claims: Mapping[str, Any]) -> Seen:
        self._said = (text, claims)
        return Seen(over=True)

    def proposal(self) -> Proposal:
        """Return what worked, in order; a claimed value refers to the last call that showed it.

        Argument values are left as the model wrote them: binding those is the bridge's.
        """
        text, claims = self._said
        calls = [{"id": f"step-{n}", "tool": t, "args": dict(a)} for n, (t, a, _) in enumerate(self._worked, 1)]
        return {"calls": calls, "answer": {"text": text, "claims": {k: self._sourced(v) for k, v in claims.items()}}}

    def _sourced(self, value: Any) -> Any:
        for n in range(len(self._worked), 0, -1):
            for path, leaf in leaves(self._worked[n - 1][2]):
                if leaf == value and not isinstance(value, (bool, dict, list)):
                    return {FROM: f"step-{n}", AT: join(path)}
        return value


def _evidence(brief: Any) -> str:
    lines = [f"The request: {brief.request}"] if brief.request else []
    lines += [f"{who}: {text}" for who, text in brief.transcript]
    lines += [f"called {e['tool']} {jsontext.dumps(e['args'])} -> {shown(e['result'])}" for e in brief.evidence]
    return "So far:\n" + "\n".join(lines) if lines else ""
