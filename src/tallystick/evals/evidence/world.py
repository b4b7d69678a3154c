"""A domain's world as authored in `worlds/*.yaml`: kinds of records, tools that read them, actions that change them.

A world knows no case. Cases draw their records from it (`build`), the environment runs its tools (`desk`), and the act
gate's contract is written from it (`contract`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final

import yaml

from tallystick.errors import InputError

DOMAINS: Final = ("commerce", "healthcare", "legal-finance", "it-admin", "smart-home", "research")


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A kind of record.

    Attributes:
        id: name of its id field.
        prefix: of drawn ids; "" where the id is another record's (`of`) or fixed by the alias.
        of: alias whose id it shares: the record says something about exactly that record.
        fields: field name → how its value is drawn (`values`).
    """

    name: str
    id: str
    prefix: str
    of: str
    fields: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Alias:
    """One record of a case, by role. `bind` is how a call's arguments and facts lead to it (CEL)."""

    name: str
    kind: str
    bind: str
    fixed: str
    fields: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadTool:
    """A tool that reads records of one kind: by their id, by a field (`by`), or all of them (`every`).

    `index` names the fields an overnight index shows; they may be out of date, and no requirement accepts them.
    """

    name: str
    kind: str
    by: str
    every: bool
    index: tuple[str, ...]

    @property
    def lists(self) -> bool:
        """Whether the answer is a list of records."""
        return self.every or bool(self.by)


@dataclass(frozen=True, kw_only=True, slots=True)
class Need:
    """A condition of an action over one field of one record.

    Attributes:
        sort: entity, state, amount, limit, authorization, policy or version.
        alias, field: what must be established.
        test: `is` a value, equals an argument (`arg`), at least an argument (`covers`), equals another field (`same`).
        operand: the value, the argument's name, or `alias.field`.
        otherwise: values that violate an `is`.
        words: the condition in words.
    """

    id: str
    sort: str
    alias: str
    field: str
    test: str
    operand: Any
    otherwise: tuple[Any, ...]
    words: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """A consequential tool.

    Attributes:
        noun: what one call makes; its id is minted at run time and named `NOUN_id`.
        root: it starts from records; otherwise it follows other actions and cites their ids.
        small: a root with few conditions, for workflows.
        closes: it ends a workflow.
        subject: alias of the record it changes, for a root.
        asks: fields it adds to the request.
        args: argument → `alias.field` whose value it must have (the request's and the subject's ids come first).
        sets: fields of the subject (or, for one that closes, of the request) after it.
    """

    name: str
    about: str
    noun: str
    prefix: str
    root: bool
    small: bool
    closes: bool
    subject: str
    asks: Mapping[str, str]
    args: Mapping[str, str]
    sets: Mapping[str, Any]
    ask: str
    statements: tuple[str, ...]
    needs: tuple[Need, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """A domain: see the attributes of its parts."""

    domain: str
    title: str
    setting: str
    noun: str
    owner: str
    pools: Mapping[str, tuple[str, ...]]
    kinds: Mapping[str, Kind]
    aliases: Mapping[str, Alias]
    reads: Mapping[str, ReadTool]
    actions: Mapping[str, Action]
    words: Mapping[str, Any] = field(default_factory=dict)

    @property
    def roots(self) -> tuple[Action, ...]:
        """Actions that start from records, the one with most conditions first."""
        return tuple(a for a in self.actions.values() if a.root and not a.small)

    @property
    def small(self) -> Action:
        """The root with few conditions, for workflows."""
        return next(a for a in self.actions.values() if a.small)

    @property
    def follows(self) -> tuple[Action, ...]:
        """Actions that follow others and do not close."""
        return tuple(a for a in self.actions.values() if not a.root and not a.closes)

    @property
    def closing(self) -> Action:
        """The action that ends a workflow."""
        return next(a for a in self.actions.values() if a.closes)

    def kind_of(self, alias: str) -> Kind:
        """Return the kind of an alias's record."""
        return self.kinds[self.aliases[alias].kind]

    def fields_of(self, kind: str) -> dict[str, str]:
        """Return every field records of `kind` can have, with how it is drawn; aliases and requests add theirs."""
        found = dict(self.kinds[kind].fields)
        for alias in self.aliases.values():
            if alias.kind == kind:
                found.update(alias.fields)
        if kind == "request":
            for action in (*self.roots, self.small):
                found.update(action.asks)
                id_field = self.kind_of(action.subject).id
                found[id_field] = f"ref {action.subject}"
                found[f"{action.subject}_label"] = f"same {action.subject}.label"
        return found

    def entities(self, action: Action) -> tuple[str, ...]:
        """Return the aliases whose records an action needs, in the order in which one leads to the next."""
        wanted = {"request", *([action.subject] if action.subject else [])}
        for path in action.args.values():
            wanted.add(path.split(".", maxsplit=1)[0])
        for need in action.needs:
            wanted.add(need.alias)
            if need.test == "same":
                wanted.add(need.operand.split(".", maxsplit=1)[0])
        return tuple(name for name in self.aliases if name in wanted)

    def arguments(self, action: Action) -> dict[str, str]:
        """Return every argument an action takes from records: argument → `alias.field`."""
        out = {self.kinds["request"].id: "request." + self.kinds["request"].id}
        if action.subject:
            kind = self.kind_of(action.subject)
            out[kind.id] = f"{action.subject}.{kind.id}"
        for name, path in action.args.items():
            alias, _, member = path.partition(".")
            out[name] = f"{alias}.{self.kind_of(alias).id}" if member == "id" else path
        return out

    def cites(self, action: Action) -> tuple[str, ...]:
        """Return the nouns whose ids an action may cite."""
        if action.root:
            return ()
        return tuple(a.noun for a in self.actions.values() if a is not action and not a.closes)


def data(name: str) -> str:
    """Return the text of a data file of this package."""
    return (resources.files("tallystick.evals.evidence") / name).read_text(encoding="utf-8")


def _yaml(name: str) -> Any:
    try:
        return yaml.load(data(name), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader
    except yaml.YAMLError as bad:
        raise InputError(f"not usable YAML: {bad}", where=name) from None


@cache
def world(domain: str) -> World:
    """Return the world of a domain.

    Raises:
        InputError: there is no such domain.
    """
    if domain not in DOMAINS:
        raise InputError(f"there is no domain `{domain}`", fix=f"one of: {', '.join(DOMAINS)}")
    shared = _yaml("worlds/shared.yaml")
    raw = _yaml(f"worlds/{domain}.yaml")
    kinds = {
        name: Kind(name=name, id=k["id"], prefix=k.get("prefix", ""), of=k.get("of", ""), fields=_drawn(k))
        for name, k in raw["kinds"].items()
    }
    aliases = {
        name: Alias(
            name=name,
            kind=a["kind"],
            fixed=a.get("fixed", ""),
            bind=a.get("bind", f'"{a.get("fixed", "")}"'),
            fields=_drawn(a),
        )
        for name, a in raw["aliases"].items()
    }
    reads = {
        name: ReadTool(
            name=name, kind=r["kind"], by=r.get("by", ""), every=r.get("all", False), index=tuple(r.get("index", ()))
        )
        for name, r in raw["reads"].items()
    }
    return World(
        domain=domain,
        title=raw["title"],
        setting=raw["setting"],
        noun=raw["noun"],
        owner=raw["owner"],
        pools={k: tuple(map(str, v)) for k, v in {**shared["pools"], **raw["pools"]}.items()},
        kinds=kinds,
        aliases=aliases,
        reads=reads,
        actions={name: _action(name, a) for name, a in raw["actions"].items()},
        words={k: v for k, v in shared.items() if k != "pools"},
    )


def _drawn(raw: Mapping[str, Any]) -> dict[str, str]:
    # YAML reads `yes` and `no` as booleans; here they are a way to draw a value like the others.
    return {k: ("yes" if v is True else "no" if v is False else str(v)) for k, v in raw.get("fields", {}).items()}


def _action(name: str, raw: Mapping[str, Any]) -> Action:
    return Action(
        name=name,
        about=raw["about"],
        noun=raw["noun"],
        prefix=raw["prefix"],
        root=raw.get("root", False),
        small=raw.get("small", False),
        closes=raw.get("closes", False),
        subject=raw.get("subject", ""),
        asks=raw.get("asks", {}),
        args=raw.get("args", {}),
        sets=raw.get("sets", {}),
        ask=raw["ask"],
        statements=tuple(raw.get("statements", ())),
        needs=tuple(_need(n) for n in raw["needs"]),
    )


def _need(raw: Mapping[str, Any]) -> Need:
    alias, _, member = raw["fact"].partition(".")
    test = next(t for t in ("is", "arg", "covers", "same") if t in raw)
    return Need(
        id=raw["id"],
        sort=raw["sort"],
        alias=alias,
        field=member,
        test=test,
        operand=raw[test],
        otherwise=tuple(raw.get("else", ())),
        words=raw["words"],
    )
