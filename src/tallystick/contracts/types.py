"""The compiled contract: frozen, checked, with every expression compiled. What the view and the gates read.

`contracts.load` makes these from YAML; `contracts.build` from Python. Both check the same rules, so a `Contract` that
exists is a valid one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Literal, Protocol

from tallystick.contracts.keys import KEY_BYTES, public_key_of
from tallystick.errors import InputError
from tallystick.model.proposal import Quantifier
from tallystick.model.values import Type

Effect = Literal["read", "write", "preview"]
Ref = tuple[str, ...]
"""A dotted path an expression reads: `("args", "amount")`, `("invoice", "status")`, `("result", "status")`."""


class Expr(Protocol):
    """A compiled CEL expression over exact values."""

    @property
    def source(self) -> str:
        """The text as written."""

    @property
    def refs(self) -> tuple[Ref, ...]:
        """Every path the expression may read, without duplicates, in order of appearance."""

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """Return the value under `env` (root name → value; records are mappings, entities map field → value).

        Raises:
            ExpressionError: a missing name, mixed types, overflow, division by zero.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityType:
    """A kind of entity and the declared types of its fields."""

    kind: str
    fields: Mapping[str, Type]


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityExpr:
    """`invoice(args.invoice_id)`: an entity of `kind` whose id an expression gives.

    `alias` is the name it has in expressions; the kind unless the contract gives another.
    `each` is set for batch targets: the expression yields a list, one entity per item.
    """

    kind: str
    id: Expr
    alias: str
    each: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Yield:
    """What a successful result establishes: facts about entities of `kind`.

    Attributes:
        kind: entity kind.
        at: JSON Pointer tokens of the record(s) in the result; `*` stands for every item.
        id: tokens of the id, relative to the record; or, where `id_arg` is set, that argument gives the id.
        fields: field name → tokens relative to the record.
        id_arg: argument that is the entity's id, for results that do not echo it.
    """

    kind: str
    at: tuple[str, ...]
    fields: Mapping[str, tuple[str, ...]]
    id: tuple[str, ...] | None = None
    id_arg: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Completeness:
    """When a read is complete, so that it supports "all", "none" and counts.

    Attributes:
        flag: tokens of a boolean that says so.
        next: tokens of a next-page marker; complete when missing, null, empty or false.
        page_arg: argument that selects the page.
        page_size: a page with that many items is not known to be the last.
        items: tokens of the item list.
        degraded: pointers of quality flags; a truthy one limits the read to presence.
    """

    flag: tuple[str, ...] | None = None
    next: tuple[str, ...] | None = None
    page_arg: str | None = None
    page_size: int | None = None
    items: tuple[str, ...] = ()
    degraded: tuple[tuple[str, ...], ...] = ()
    declared: bool = False  # the tool always answers completely


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """A call over several items: effects, obligations and outcomes are per item.

    Attributes:
        arg: the argument that is the list.
        key: tokens of the item's id inside an argument item; empty when the item is the id.
        results: tokens of the per-item answers in the result.
        result_key: tokens of the item's id inside an answer.
        ok: predicate over `item` (one answer) that says it succeeded.
    """

    arg: str
    key: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    result_key: tuple[str, ...] = ()
    ok: Expr | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Settle:
    """How doubt about a write is resolved: after reading with `tool`, `shows` true means it happened.

    `args` maps the read's arguments to expressions over the doubtful call's `args`. `lag_seconds`: a read sooner than
    this after the call cannot show that nothing happened.
    """

    tool: str
    shows: Expr
    args: Mapping[str, Expr] = field(default_factory=dict)
    lag_seconds: int = 0


RequirementKind = Literal["fact", "known", "confirmed", "argument", "read", "previewed", "approval", "any"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Requirement:
    """One piece of evidence a consequential call needs before it runs.

    Attributes:
        id: name within the tool; appears in reasons.
        kind: fact: `expr` over args and entity facts is true. known: the entity `entity` has been read, by that very
            id. confirmed: the host recorded the user's choice of `entity`. argument: argument `arg` equals what the
            newest good receipt of `tool` says at `pointer`. read: `tool` answered well, with `expr` (over its `args`
            and `result`, and this call's arguments as `call`) true.
            previewed: the last preview by this tool with equal `args_equal` arguments succeeded, and with `expr` (over
            `args` and `preview`) true. approval: a principal with role `role` approved this call. any: one of
            `options` is met.
        when: the requirement applies only where this is true; missing evidence for it makes the requirement apply.
        fresh: `write`: evidence is newer than the last write to that entity; an int: not older than so many seconds.
        message: the author's sentence for the agent, if any.
    """

    id: str
    kind: RequirementKind
    expr: Expr | None = None
    entity: EntityExpr | None = None
    arg: str | None = None
    tool: str | None = None
    pointer: tuple[str, ...] = ()
    args_equal: tuple[str, ...] = ()
    role: str | None = None
    options: tuple[Requirement, ...] = ()
    when: Expr | None = None
    fresh: Literal["write"] | int | None = None
    message: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """One tool under contract.

    Attributes:
        effect: default effect class; `effect_cases` (condition over args, class) are tried first, in order.
        args: declared types of arguments; undeclared ones are `json`.
        args_schema: the tool's own JSON Schema, or None.
        target: entities a write addresses (or a read asks about), named for expressions.
        bind: further entities reachable through facts, in order.
        yields: facts a good result establishes.
        once_per: expressions whose values identify the effect; empty: all arguments but the idempotency key.
        idempotency_arg: argument that carries an idempotency key.
        dedupes_by_key: the tool promises that the same key and arguments have one effect.
        ok: predicate over `result` (and `args`) that says a write succeeded.
        no_effect: predicate that says nothing happened (a declared rejection).
        pending: predicate that says it is not finished yet.
        terminal: values of `status_at` that are final; anything else is not.
        echoes: (argument, result tokens) pairs that must agree for the receipt to speak about this call.
        undone_by: tools whose later success for the same entity unmakes an effect of this one (`remove` after `add`,
            or the tool itself where the next call overwrites the last); what is unmade may be done again.
    """

    name: str
    effect: Effect
    effect_cases: tuple[tuple[Expr, Effect], ...] = ()
    declared: bool = True
    args: Mapping[str, Type] = field(default_factory=dict)
    args_schema: Mapping[str, Any] | None = None
    target: tuple[EntityExpr, ...] = ()
    bind: tuple[EntityExpr, ...] = ()
    yields: tuple[Yield, ...] = ()
    once_per: tuple[Expr, ...] = ()
    idempotency_arg: str | None = None
    dedupes_by_key: bool = False
    needs_approval: str | None = None  # role, or "" for any principal
    ok: Expr | None = None
    no_effect: Expr | None = None
    pending: Expr | None = None
    status_at: tuple[str, ...] = ()
    terminal: tuple[str, ...] = ()
    echoes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    undone_by: tuple[str, ...] = ()
    batch: Batch | None = None
    complete: Completeness | None = None
    settle: Settle | None = None
    requires: tuple[Requirement, ...] = ()
    volatile: bool = False  # polling it is progress
    lag_seconds: int = 0  # how long a read may miss a write
    secrets: tuple[tuple[str, ...], ...] = ()  # pointers into args or result redacted before storage
    schema_sha256: str | None = None
    description: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConditionRule:
    """A standing condition: where `when` holds for an entity of `kind`, the tools in `removes` are removed.

    `until` (over the entity's facts) lifts it by evidence; an approval by `authority` for the entity lifts it too.
    `fallback_tools` stay admissible and leave it aside.
    """

    id: str
    kind: str | None
    when: Expr | None
    removes: tuple[str, ...]
    status: str
    prerequisite: str
    authority: str
    fallback: str
    until: Expr | None = None
    fallback_tools: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Exclusion:
    """At most one of `tools` may take effect per value of `per` (one expression per tool over its args)."""

    id: str
    tools: tuple[str, ...]
    per: Mapping[str, Expr]
    message: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Duty:
    """Standing: what follows from a call that went well, owed before the run may end.

    Attributes:
        after: the tool whose success brings it about: the effect of a write that still stands, or a good read.
        when: only where this is true, over that call's `args` and `result`, the facts of the entities it addresses as
            they are known at the end, and `talk`; what cannot be evaluated counts as true.
        owes: tools of which one must succeed after that call; `ever`: or has succeeded before it.
        expr: over the discharging call's `args` and `result`, and `call`, the arguments of the call that brought it.
    """

    id: str
    after: str
    owes: tuple[str, ...]
    when: Expr | None = None
    expr: Expr | None = None
    ever: bool = False
    message: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """What receipts of `tool` say at `pointer`: no value, one, or many.

    Attributes:
        pointer: tokens; `*` stands for every item.
        where: filter over `item` (what the last `*` stands for), `result`, `args` of that call, and `task`.
    """

    tool: str
    pointer: tuple[str, ...]
    where: Expr | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """A CEL expression over the facts of the slot's entity (by its alias) and `task`."""

    expr: Expr


@dataclass(frozen=True, kw_only=True, slots=True)
class Constant:
    """A JSON value that no receipt states. No contract can demand one; a certificate may state one, and be refused."""

    value: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Apply:
    """A function over terms; `contracts.terms.FUNCTIONS` says which there are, and what each takes and gives.

    Attributes:
        names: the members of a `record`, in the order of `args`; empty for every other function.
        option: the time of `after` and `before` (`14d`), the zone of `day`; "" for every other function.
    """

    function: str
    args: tuple[Term, ...]
    names: tuple[str, ...] = ()
    option: str = ""


Term = Source | Facts | Constant | Apply


@dataclass(frozen=True, kw_only=True, slots=True)
class Derivation:
    """How a claimed value is recomputed.

    Attributes:
        source: the text as written.
        term: what it says.
    """

    source: str
    term: Term


@dataclass(frozen=True, kw_only=True, slots=True)
class Period:
    """The civil dates a slot is about: only what is dated `first` to `last`, both included, counts.

    Attributes:
        at: tokens of the date, relative to each item the derivation ranges over (to the result where it ranges over
            none); unused where `arg` is set.
        arg: the call's argument that is the date.
        first: expression over the task's inputs that gives a date; likewise `last`.
        zone: where the date is an instant, the time zone whose calendar counts.
    """

    at: tuple[str, ...]
    first: Expr
    last: Expr
    arg: str | None = None
    zone: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ObligationRule:
    """Template of something owed. Instances are frozen per run: one, or one per binding of `each`.

    Attributes:
        by: tool whose effect discharges it (event kind), with `args` (argument → expression over the task's bindings).
        kind: event: once discharged, stays discharged. state: `fact` must hold now.
        entity: entity the instance is about, over task bindings.
        when: applies only where true over facts; unknown means still owed.
        each: task binding that is a list: one instance per item, bound to `item`.
    """

    id: str
    kind: Literal["event", "state"]
    by: str | None = None
    entity: EntityExpr | None = None
    args: Mapping[str, Expr] = field(default_factory=dict)
    fact: Expr | None = None
    when: Expr | None = None
    each: str | None = None
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Slot:
    """A value the final answer must contain.

    Attributes:
        entity: what it is about; `dates` the period it is about.
        quantifier: one; or all, none, count, which need a complete read. Under `none` the value must be nothing: 0,
            an empty list or set, or false.
    """

    name: str
    type: Type
    derive: Derivation
    entity: EntityExpr | None = None
    dates: Period | None = None
    quantifier: Quantifier = "one"
    required: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Contract:
    """A standing contract for a set of tools, with the template of its tasks.

    Attributes:
        text: the source text, stored in each run's first event; "" only for `EMPTY`.
        inputs: names and types of the task's bindings (`task: inputs:`).
        closed: a tool the contract does not mention is refused when it is consequential or of unknown effect.
    """

    name: str
    version: str
    text: str
    sha256: str
    entities: Mapping[str, EntityType] = field(default_factory=dict)
    tools: Mapping[str, Tool] = field(default_factory=dict)
    conditions: tuple[ConditionRule, ...] = ()
    exclusive: tuple[Exclusion, ...] = ()
    duties: tuple[Duty, ...] = ()
    inputs: Mapping[str, Type] = field(default_factory=dict)
    owes: tuple[ObligationRule, ...] = ()
    answer: tuple[Slot, ...] = ()
    closed: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Principal:
    """Who may approve, waive or settle, and the Ed25519 public key that proves it.

    Attributes:
        id: who they are.
        role: what they may decide, as the contract's `needs_approval` and `authority` name it.
        public_key: the key's 32 raw bytes; `from_key` reads PEM, hexadecimal digits and key files.

    Raises:
        InputError: an empty id or role, or a key that is not 32 bytes.
    """

    id: str
    role: str
    public_key: bytes

    def __post_init__(self) -> None:
        for name, given in (("id", self.id), ("role", self.role)):
            if not isinstance(given, str) or not given.strip():
                raise InputError(f"`{given}` is no {name} of a principal", where=f"Principal: {name}", fix="a text")
        key: object = self.public_key
        if not isinstance(key, bytes) or len(key) != KEY_BYTES:
            what = f"{len(key)} bytes" if isinstance(key, bytes) else f"a {type(key).__name__}"
            raise InputError(
                f"{what} is no raw public key, which has {KEY_BYTES} bytes",
                where="Principal: public_key",
                fix="`Principal.from_key(id, role, key)` reads PEM, hexadecimal digits and key files",
            )

    @classmethod
    def from_key(cls, id: str, role: str, key: str | bytes | PathLike[str]) -> Principal:  # noqa: A002 - as the field
        """Return a principal by a public key as people hold it.

        Args:
            id: who they are.
            role: what they may decide.
            key: a path of a key file (`.pub`), or the key itself: PEM or 64 hexadecimal digits as text or bytes, or
                32 raw bytes.

        Raises:
            InputError: the file cannot be read, or it is no Ed25519 public key; a private key is refused by name.
        """
        return cls(id=id, role=role, public_key=public_key_of(key, f"the public key of `{id}`"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """What one run owes, frozen at its start.

    Attributes:
        request: what the requester asked, in words.
        bindings: input name → exact value; the contract's obligations and slots are instantiated over them.
        principals: who may sign.
        need_answer: whether the contract's answer slots are demanded.
    """

    request: str = ""
    bindings: Mapping[str, Any] = field(default_factory=dict)
    principals: tuple[Principal, ...] = ()
    need_answer: bool = True
