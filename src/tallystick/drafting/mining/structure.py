"""The part of a mined contract that says what tools do: effects, arguments, entities, yields, success, targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tallystick.audit.step import is_id_name
from tallystick.audit.tools import words_of
from tallystick.contracts.typetext import type_of
from tallystick.drafting.draft import args_of, args_remark, effect_with, sentence
from tallystick.drafting.mining.corpus import Corpus, Usage
from tallystick.drafting.mining.kinds import KindAt, Kinds, args_seen, type_name
from tallystick.drafting.mining.outcomes import Outcomes, outcomes_of
from tallystick.drafting.sheet import Line, Sheet, ToolSheet, YieldSheet, field_name, is_identifier
from tallystick.model.pointer import join


@dataclass(frozen=True, kw_only=True)
class Bound:
    """An entity a write addresses: its name in expressions, its kind, and the text that binds it."""

    alias: str
    kind: str
    text: str
    arg: str | None  # the argument that names it, or None where a fact of another entity does


@dataclass(kw_only=True)
class Structure:
    """The sheet without requirements, and what the search for requirements needs to know about it."""

    sheet: Sheet
    bound: dict[str, list[Bound]] = field(default_factory=dict)
    primary: dict[str, Bound] = field(default_factory=dict)
    outcomes: dict[str, Outcomes] = field(default_factory=dict)
    types: dict[tuple[str, str], str] = field(default_factory=dict)  # (kind, field) → type text without `optional`
    whose: frozenset[str] = frozenset()  # kinds that say whose run it is


def structure_of(corpus: Corpus, kinds: Kinds, name: str) -> Structure:
    """Return what the trajectories say about the tools themselves."""
    made = Structure(sheet=Sheet(name=name), whose=_whose(corpus, kinds))
    _entities(made, kinds)
    for tool, usage in corpus.tools.items():
        page = ToolSheet(name=tool, writes=usage.writes, intro=_intro(usage))
        made.outcomes[tool] = outcomes_of(usage, corpus)
        _effect(page, usage)
        args = _args(usage)
        page.put("args", args, args_remark({arg: (text, False) for arg, text in args.items()}) if page.writes else "")
        _address(made, page, usage, kinds)
        for place in kinds.places[tool]:
            page.yields.append(_yield(place))
        _results(page, made.outcomes[tool])
        made.sheet.tools[tool] = page
    return made


def _intro(usage: Usage) -> str:
    return sentence(usage.spec.description) if usage.spec is not None else ""


def _entities(made: Structure, kinds: Kinds) -> None:
    for listed in kinds.places.values():
        for place in listed:
            fields = made.sheet.entities.setdefault(place.kind, {"id": Line(value="id")})
            for name, text in place.types.items():
                known = made.types.get((place.kind, name))
                told = text
                if known is not None and known != text:
                    numbers = {known, text} == {"integer", "decimal"}
                    told = "decimal" if numbers else known if text == "json" else text if known == "json" else "mixed"
                made.types[place.kind, name] = told
                fields[name] = Line(value="json" if told in ("json", "mixed") else f"optional {told}")
    made.sheet.entities = dict(sorted(made.sheet.entities.items()))


def _effect(page: ToolSheet, usage: Usage) -> None:
    seen = len(usage.samples)
    because = f"{'guess: ' if usage.guess else ''}{usage.because}"
    if not usage.writes:
        page.put("effect", "read", because)
        return
    if usage.switch is None:
        page.put("effect", "write", because + ("" if seen else "; never called"))
        return
    shown, done = len(usage.of("preview")), len(usage.of("write"))
    page.put(
        "effect",
        effect_with(usage.switch, default_preview=usage.default_preview),
        f"`{usage.switch}`: {shown} previews and {done} commits seen",
    )
    if not usage.default_preview and all(usage.switch in s.args for s in usage.samples):
        page.remarks.append(f"no call without `{usage.switch}` was seen; it would count as the real thing")


def _args(usage: Usage) -> dict[str, str]:
    """Return each argument's type: as declared where every good call fits that, else what the calls show."""
    declared = args_of(usage.spec) if usage.spec is not None else {}
    good = [s for s in usage.samples if s.came not in ("error", "rejected", "none")]
    found = {}
    for arg in args_seen(usage):
        values = [s.args[arg] for s in good if arg in s.args]
        always = len(values) == len(good) and arg not in declared
        text = declared[arg][0] if arg in declared else _inferred(arg, values)
        base = text.removeprefix("optional ")
        if not _fits(base, [v for v in values if v is not None]):
            base = "json"
        absent = text.startswith("optional ") or not always or len(values) < len(good) or None in values
        if arg in declared:
            absent = declared[arg][1] or len(values) < len(good) or None in values
        found[arg] = f"optional {base}" if absent else base
    return found


def _inferred(arg: str, values: Sequence[Any]) -> str:
    names = {type_name(v) for v in values if v is not None}
    if names <= {"string", "integer"} and names and is_id_name(arg):
        return "id"
    if names and names <= {"integer", "decimal"}:
        return "decimal" if "decimal" in names else "integer"
    return next(iter(names)) if len(names) == 1 else "json"


def _fits(text: str, values: Sequence[Any]) -> bool:
    type_ = type_of(text)
    for value in values:
        try:
            type_.parse(value)
        except ValueError:
            return False
    return True


def _yield(place: KindAt) -> YieldSheet:
    id_ = f"args.{place.id_arg}" if place.id is None else join(place.id)
    return YieldSheet(
        kind=place.kind, id=id_, at=join(place.at), fields={name: join(path) for name, path in place.fields.items()}
    )


def _results(page: ToolSheet, outcomes: Outcomes) -> None:
    page.put("ok", outcomes.ok, f"{len(outcomes.ok_tally.held)} good answers, no other" if outcomes.ok else "")
    cases = len(outcomes.no_effect_tally.held)
    page.put("no_effect", outcomes.no_effect, f"guess: {cases} seen" if outcomes.no_effect else "")
    page.put("pending", outcomes.pending, "guess: by its own word it is not finished" if outcomes.pending else "")
    page.put("echoes", outcomes.echoes)
    page.remarks.extend(outcomes.remarks)


def _address(made: Structure, page: ToolSheet, usage: Usage, kinds: Kinds) -> None:
    """Say which entities a call addresses: the one the tool changes is its target, the others are only named."""
    args = [a for a in args_seen(usage) if (usage.name, a) in kinds.of_arg]
    named = [a for a in args if _names_one(usage, a)]
    if usage.writes:
        named.sort(key=lambda a: _affinity(usage, a, kinds.of_arg[usage.name, a], made.whose))
    bound: list[Bound] = []
    for arg in named:
        kind = kinds.of_arg[usage.name, arg]
        alias = kind
        if any(b.alias == alias for b in bound):
            alias = field_name(arg) or arg
            if alias in made.sheet.entities or any(b.alias == alias for b in bound):
                continue
        text = f"{kind}(args.{arg})" + ("" if alias == kind else f" as {alias}")
        bound.append(Bound(alias=alias, kind=kind, text=text, arg=arg))
    if not bound:
        return
    made.bound[usage.name] = bound
    made.primary[usage.name] = bound[0]
    rest = [b.text for b in bound[1:]]
    page.put("target", bound[0].text, "guess: this is what it changes" if rest and usage.writes else "")
    page.put("bind", rest[0] if len(rest) == 1 else rest)


def _names_one(usage: Usage, arg: str) -> bool:
    good = [s for s in usage.samples if s.good]
    given = [s.args[arg] for s in good if arg in s.args]
    if not is_identifier(arg) or not all(isinstance(v, (str, int)) and not isinstance(v, bool) for v in given):
        return False
    # One that most calls leave out, or leave empty, is an option of the call, not what the call is about.
    return not good or 2 * sum(v != "" for v in given) > len(good)


def _affinity(usage: Usage, arg: str, kind: str, whose: frozenset[str]) -> tuple[bool, bool, int]:
    """Order candidates for what a write changes: named by the tool itself; not whose run it is; declared first."""
    words = set(words_of(usage.name))
    named = set(words_of(kind)) <= words or set(words_of(arg)) - {"id"} <= words
    return not named, kind in whose, args_seen(usage).index(arg)


def _whose(corpus: Corpus, kinds: Kinds) -> frozenset[str]:
    """Return the kinds of which no trajectory's writes ever name two, though of others they do: whose run it is."""
    named: dict[tuple[str, str], set[str]] = {}
    for usage in corpus.tools.values():
        for sample in usage.samples if usage.writes else ():
            for arg, value in sample.args.items():
                kind = kinds.of_arg.get((usage.name, arg))
                if kind is not None and value not in (None, ""):
                    named.setdefault((sample.trace, kind), set()).add(repr(value))
    varied = {kind for (_, kind), values in named.items() if len(values) > 1}
    return frozenset({kind for _, kind in named} - varied) if varied else frozenset()
