"""Good trajectories as samples: each call with its arguments, its parsed result, and what came of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tallystick.audit.step import Came, step_of
from tallystick.audit.tools import CONFIRMS, REHEARSALS, Tools
from tallystick.drafting.counts import Seen
from tallystick.drafting.draft import default_is_preview, properties_of, switch_of
from tallystick.drafting.sheet import is_identifier, is_tool_name
from tallystick.drafting.spec import ToolSpec
from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.trace import Trace, TraceCall


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One call of a good trajectory.

    Attributes:
        trace: label of the trajectory.
        order: position among the calls of the trajectory.
        args: the arguments; `{}` where they could not be read.
        value: the parsed result; None where there is none.
        came: what came of it, as the audit tells without a contract.
        effect: what its tool was asked for.
    """

    trace: str
    order: int
    call: TraceCall
    args: Mapping[str, Any]
    value: Any
    came: Came
    effect: Literal["read", "preview", "write"]

    @property
    def good(self) -> bool:
        """Whether the result says that what was asked for was done."""
        return self.came in (("ok", "preview", "simulated") if self.effect == "preview" else ("ok",))

    @property
    def seen(self) -> Seen:
        """How it is cited."""
        return Seen(trace=self.trace, message=self.call.message, call=self.call.id)


@dataclass(kw_only=True)
class Usage:
    """One tool as the trajectories use it.

    Attributes:
        writes: whether it writes; `because` why that is thought, `guess` whether nothing declared it.
        switch: the boolean argument that tells a preview from the real thing, or None.
        default_preview: a call without the switch is only a preview.
    """

    name: str
    spec: ToolSpec | None
    writes: bool
    because: str
    guess: bool
    switch: str | None = None
    default_preview: bool = False
    samples: list[Sample] = field(default_factory=list)

    def of(self, effect: str) -> list[Sample]:
        """Return the calls that asked for `effect`."""
        return [s for s in self.samples if s.effect == effect]


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """The trajectories, in a fixed order, and every tool they use or that was declared."""

    traces: Mapping[str, Trace]
    tools: Mapping[str, Usage]
    left_out: tuple[str, ...] = ()

    def by_trace(self) -> Mapping[str, list[Sample]]:
        """Return each trajectory's calls in order."""
        found: dict[str, list[Sample]] = {label: [] for label in self.traces}
        for usage in self.tools.values():
            for sample in usage.samples:
                found[sample.trace].append(sample)
        for listed in found.values():
            listed.sort(key=lambda s: s.order)
        return found


def labelled(traces: Iterable[Trace]) -> dict[str, Trace]:
    """Return traces by label, in a fixed order, each content once. Where ids repeat, the label names the folder too.

    Raises:
        InputError: two different trajectories have one id in one folder.
    """
    once = list({(t.sha256, t.id): t for t in traces}.values())
    counted: dict[str, int] = defaultdict(int)
    for trace in once:
        counted[trace.id] += 1
    found: dict[str, Trace] = {}
    for trace in once:
        label = trace.id if counted[trace.id] == 1 else f"{Path(trace.source).parent.name}/{trace.id}"
        if label in found:
            raise InputError(f"two trajectories are called `{label[:80]}`", fix="mine them from folders of their own")
        found[label] = trace
    return dict(sorted(found.items()))


def corpus(traces: Iterable[Trace], specs: Mapping[str, ToolSpec]) -> Corpus:
    """Return the corpus of some good trajectories.

    A quarantined trace (its results cannot be told apart) yields no evidence and is left out; so is a tool with a name
    that no contract can mention. A tool of unknown effect counts as a write.
    """
    kept = {label: t for label, t in labelled(traces).items() if not t.quarantined}
    known = Tools(declared={n: s.writes for n, s in specs.items() if s.writes is not None})
    tools: dict[str, Usage] = {}
    named = list(dict.fromkeys([*specs, *sorted({c.tool for t in kept.values() for c in t.calls})]))
    for name in named:
        if is_tool_name(name):
            tools[name] = _usage(name, specs.get(name), known, kept)
    for label, trace in kept.items():
        _collect(label, trace, known, tools)
    for usage in tools.values():
        _settle_default(usage)
    left = [n for n in named if n not in tools]
    return Corpus(traces=kept, tools=tools, left_out=tuple(left))


def _usage(name: str, spec: ToolSpec | None, known: Tools, traces: Mapping[str, Trace]) -> Usage:
    first = next((c.args for t in traces.values() for c in t.calls if c.tool == name and isinstance(c.args, dict)), {})
    use = known.use(name, first)
    usage = Usage(
        name=name,
        spec=spec,
        writes=use.effect != "read",
        because=spec.because if spec is not None and spec.writes is not None else use.because,
        guess=use.guess,
    )
    if not usage.writes:
        return usage
    stated = properties_of(spec) if spec is not None else {}
    declared = switch_of(list(stated), stated)
    seen = sorted(
        {
            arg
            for t in traces.values()
            for c in t.calls
            if c.tool == name and isinstance(c.args, dict)
            for arg, value in c.args.items()
            if isinstance(value, bool) and arg.lower() in CONFIRMS | REHEARSALS and is_identifier(arg)
        }
    )
    usage.switch = declared or (seen[0] if seen else None)
    if usage.switch is not None and spec is not None:
        usage.default_preview = default_is_preview(usage.switch, spec)
    return usage


def _collect(label: str, trace: Trace, known: Tools, tools: Mapping[str, Usage]) -> None:
    asked = order = 0
    for message in trace.messages:
        if message.role == "user":
            asked += 1
        for call in message.calls:
            usage = tools.get(call.tool)
            order += 1
            if usage is None:
                continue
            args = call.args if isinstance(call.args, dict) else {}
            step = step_of(call, order, asked, known.use(call.tool, args), 0)
            usage.samples.append(
                Sample(
                    trace=label,
                    order=order,
                    call=call,
                    args=args,
                    value=_value(call),
                    came=step.came,
                    effect=_effect(usage, args),
                )
            )


def _effect(usage: Usage, args: Mapping[str, Any]) -> Literal["read", "preview", "write"]:
    if not usage.writes:
        return "read"
    if usage.switch is None:
        return "write"
    if usage.switch not in args:
        return "preview" if usage.default_preview else "write"
    wanted = usage.switch.lower() in REHEARSALS
    return "preview" if args[usage.switch] is wanted else "write"


def _settle_default(usage: Usage) -> None:
    """Where every call without the switch was answered with a preview, such a call is one."""
    if usage.switch is None or usage.default_preview:
        return
    bare = [s for s in usage.samples if usage.switch not in s.args]
    if bare and all(s.came in ("preview", "simulated") for s in bare):
        usage.default_preview = True
        usage.samples = [
            s if usage.switch in s.args else Sample(**{**_fields(s), "effect": "preview"}) for s in usage.samples
        ]


def _fields(sample: Sample) -> dict[str, Any]:
    return {name: getattr(sample, name) for name in Sample.__dataclass_fields__}


def _value(call: TraceCall) -> Any:
    result = call.result
    if result is None:
        return None
    if result.structured is not None:
        return result.structured
    if not isinstance(result.body, str):
        return result.body
    try:
        return jsontext.loads(result.body)
    except InputError:
        return result.body


def scalars(samples: Sequence[Sample], arg: str) -> list[Any]:
    """Return the values of an argument over some calls, where it was given."""
    return [s.args[arg] for s in samples if arg in s.args]
