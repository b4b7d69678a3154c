"""The events of a run: envelope, and one frozen body per kind.

An event is stored as the RFC 8785 bytes of its envelope; its digest is the SHA-256 of those bytes; `prev` is the digest
of the event before it. Bodies hold only strings, booleans, null, small integers and lists of those, so every event has
exactly one byte form. Foreign bytes (arguments, results) are carried whole in a `Blob` with their SHA-256; what is
parsed out of them is derived and can be derived again.
"""

from __future__ import annotations

import base64
from typing import Annotated, Final, Literal

import msgspec

from tallystick.errors import InputError
from tallystick.model.canonical import MAX_INTEGER, digest

ENVELOPE_VERSION: Final = 1
SEMANTICS: Final = "tallystick-gates/3"
"""Version of the rules the gates implement; recorded in each run so that old decisions are rechecked honestly."""
GENESIS: Final = "0" * 64
"""`prev` of a run's first event."""

Role = Literal["runtime", "executor", "agent", "user", "principal", "host", "importer"]
Outcome = Literal["not_started", "in_flight", "ok", "no_effect", "unknown", "partial", "simulated"]
Source = Literal["live", "replica", "imported"]
Int = Annotated[int, msgspec.Meta(ge=-MAX_INTEGER, le=MAX_INTEGER)]
"""An integer every JSON reader keeps exactly; `seal` and `unseal` refuse any other."""


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """Who an event comes from. Only an `executor` makes receipts, only a `principal` approves, waives, settles."""

    role: Role
    id: str


class Blob(msgspec.Struct, frozen=True, kw_only=True):
    """Foreign bytes as they crossed the wire, with their SHA-256 and size in bytes.

    `text` holds them when they are UTF-8, else `base64` does. `redacted` lists JSON Pointers of secret fields whose
    values were replaced by `hmac:<hex>` before storage; the SHA-256 is then that of the redacted bytes.
    """

    sha256: str
    size: Int
    text: str | None = None
    base64: str | None = None
    redacted: list[str] = []

    @property
    def raw(self) -> bytes:
        """The bytes."""
        if self.text is not None:
            return self.text.encode("utf-8")
        return base64.b64decode(self.base64 or "", validate=True)


def blob(raw: bytes, *, redacted: list[str] | None = None) -> Blob:
    """Return `raw` as a `Blob`."""
    try:
        text: str | None = raw.decode("utf-8")
        b64 = None
    except UnicodeDecodeError:
        text, b64 = None, base64.b64encode(raw).decode("ascii")
    return Blob(sha256=digest(raw), size=len(raw), text=text, base64=b64, redacted=redacted or [])


class Body(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """Base of all event bodies; the tag is the event's kind."""


class Started(Body, frozen=True, kw_only=True, tag="run.started"):
    """First event of a run: what it is judged by. Frozen; a later change is a `ContractChanged` by a principal."""

    semantics: str
    contract: str  # the contract's text, "" for none
    contract_sha256: str
    task: str  # the task as JSON text (`contracts.task`), "" for none
    task_sha256: str
    principals: list[list[str]] = []  # [id, role, hex Ed25519 public key] each
    parent: str | None = None  # run id of the parent run
    format: str | None = None  # importer that made this run from a trace
    controls: list[list[str]] | msgspec.UnsetType = msgspec.UNSET
    """Endpoint controls it was started under: [name, role asked, tool, …] each, without tools every consequential call.
    Unset where there are none."""


class Said(Body, frozen=True, kw_only=True, tag="message"):
    """Words. `role` is who the transport says spoke; words are claims, never evidence."""

    role: str
    text: str
    native_id: str | None = None
    truncated: bool = False  # the turn ended by length, refusal or pause


class Intent(Body, frozen=True, kw_only=True, tag="intent"):
    """An admitted call is about to run. Appended, durably, before the tool is touched."""

    call: str  # id minted by the runtime, unique in the run
    tool: str
    args: Blob  # the arguments dispatched, as JSON
    raw_args: Blob | None = None  # the model's own argument text, where it differs
    native_id: str | None = None  # the framework's call id; may repeat, collide or be missing
    turn: Int | None = None
    wish: str = ""  # which obligation instance or user wish this serves; "" is the run's own task
    effect_keys: list[str] = []  # canonical keys of the effects this call may realise
    target: list[str] = []  # [kind, id] pairs flattened: the entities addressed
    idempotency_key: str | None = None
    approvals: list[str] = []  # ids of the approvals this intent uses up
    basis: list[str] = []  # digests of the events the admission relied on
    judged_upto: Int = 0  # seq up to which absence was judged
    now: str = ""  # RFC 3339 instant the decision was made at


class Receipt(Body, frozen=True, kw_only=True, tag="receipt"):
    """The executor's record of one call's outcome. Only an executor (or an importer reading one) makes it."""

    id: str  # minted by the runtime, one per occurrence
    call: str | None  # the intent's call id; None where a result could not be paired with a call
    result: Blob | None  # None: nothing came back
    structured: Blob | None = None  # the structured channel, where the transport has two
    flag: Literal["ok", "error", "unset"] = "unset"  # what the envelope said; not the truth
    outcome: Outcome = "unknown"  # what the runtime concluded from all levels
    error: str | None = None  # text of the executor's exception or transport error, shortened
    observed_at: str = ""  # RFC 3339; for a cached result, when the original was observed
    source: Source = "live"
    native_id: str | None = None
    late: bool = False  # arrived after its turn or run ended
    delivered: bool = True  # reached the model
    synthetic: bool = False  # made by a framework, not by the tool
    cached_from: str | None = None  # receipt id it repeats
    dry_run: bool = False
    truncated: bool = False


class Refusal(Body, frozen=True, kw_only=True, tag="refusal"):
    """A proposal that was not admitted, with the decision in full."""

    tool: str
    args: Blob
    native_id: str | None = None
    wish: str = ""
    decision: str = ""  # canonical JSON of the `Decision`
    fingerprint: str = ""  # same tool, arguments and reasons: same fingerprint
    now: str = ""
    turn: Int | None = None
    raw_args: Blob | None = None  # the model's own argument text, where it differs
    idempotency_key: str | None = None
    complete: bool = True  # False: the turn that made the call was cut


class Confirmation(Body, frozen=True, kw_only=True, tag="confirmation"):
    """A typed event from the host: the user chose or confirmed `value` for entity `kind`/`id` (a binding)."""

    entity_kind: str
    entity_id: str
    name: str = ""  # what was confirmed: "" the entity itself, else a field name
    value: str = ""  # canonical JSON of the confirmed value
    guessed: bool = False  # inferred from text, in audits only


class Approval(Body, frozen=True, kw_only=True, tag="approval"):
    """A principal's signed, single-use decision about one call: this tool, these arguments, this run, until then."""

    id: str
    principal: str
    decision: Literal["approve", "deny"]
    tool: str
    args_sha256: str  # SHA-256 of the canonical arguments (`args_digest`)
    run: str
    expires: str = ""  # RFC 3339; "" never
    for_condition: str | None = None  # id of the condition whose prerequisite this is
    entity: list[str] = []  # [kind, id] where the approval speaks for an entity rather than one call
    signature: str = ""  # hex Ed25519 over the canonical body without this field; "" only from trusted importers


class Raised(Body, frozen=True, kw_only=True, tag="condition.raised"):
    """A condition: the named actions are removed until its prerequisite is established."""

    id: str
    removes: list[str]  # tool names
    scope: list[list[str]] = []  # [argument name, JSON value] pairs a call must match for it to apply; [] all
    entity: list[str] = []  # [kind, id]
    status: str = ""  # stop status, e.g. "do not pay"
    prerequisite: str = ""
    authority: str = ""  # role or principal that can lift it
    fallback: str = ""
    operation: str | None = None  # ends with this operation
    by: str = ""
    # Later fields are absent where they say nothing, so that older records keep their bytes.
    expires: str | msgspec.UnsetType = msgspec.UNSET  # RFC 3339; it is over from then on; unset: never
    evidence: list[str] | msgspec.UnsetType = msgspec.UNSET  # receipt ids, or digests, on which it was raised
    until: list[list[str]] | msgspec.UnsetType = msgspec.UNSET
    """What a receipt must show to satisfy the prerequisite: [tool, JSON Pointer, JSON value] each, all of one tool; ""
    in the place of the value asks for an instant that is not over yet."""
    origin: list[str] | msgspec.UnsetType = msgspec.UNSET  # [run, digest of the event] where it was raised first


class Lifted(Body, frozen=True, kw_only=True, tag="condition.lifted"):
    """A condition no longer holds: resolved by its authority, by evidence, left aside through its fallback, or over."""

    id: str
    how: Literal["resolved", "fallback", "expired", "operation_closed", "withdrawn"]
    by: str
    evidence: list[str] = []
    signature: str = ""


class Obliged(Body, frozen=True, kw_only=True, tag="obligation.added"):
    """Something owed, added after the start by a principal or the host."""

    id: str
    text: str = ""
    tool: str | None = None
    args: list[list[str]] = []  # [argument name, JSON value] pairs the discharging call must match
    entity: list[str] = []


class Settled(Body, frozen=True, kw_only=True, tag="obligation.settled"):
    """A principal waives an obligation, or evidence shows it impossible."""

    id: str
    how: Literal["waived", "impossible"]
    by: str
    evidence: list[str] = []
    signature: str = ""


class Wish(Body, frozen=True, kw_only=True, tag="wish"):
    """The user asked for something (again): a new intent, so an equal effect is not a duplicate. From the host."""

    id: str
    text: str = ""
    tool: str | None = None


class DoubtSettled(Body, frozen=True, kw_only=True, tag="doubt.settled"):
    """What an intent in doubt turned out to be, by the contract's status query or by a person."""

    call: str
    outcome: Literal["ok", "no_effect"]
    by: Literal["query", "principal"]
    evidence: list[str] = []  # receipt ids of the status query
    principal: str = ""
    note: str = ""
    signature: str = ""


class Stated(Body, frozen=True, kw_only=True, tag="fact.stated"):
    """A value the user stated, typed by the host (an amount, a date). A claim about the world, binding as a wish."""

    field: str
    value: str  # canonical JSON
    entity: list[str] = []
    text: str = ""


class SchemaChanged(Body, frozen=True, kw_only=True, tag="schema.changed"):
    """A tool's schema or annotations are not the ones the contract was reviewed against."""

    tool: str
    sha256: str
    schema: str = ""  # JSON text: what is known of the live schema
    effect: str | None = None  # live effect class, where annotations state one


class ContractChanged(Body, frozen=True, kw_only=True, tag="contract.changed"):
    """A principal changes the contract of a running run. Never widens what is frozen."""

    contract: str
    contract_sha256: str
    principal: str
    signature: str = ""


class Reported(Body, frozen=True, kw_only=True, tag="report"):
    """A model's own report of its stage or of being done. Compared, never believed."""

    stage: str = ""
    text: str = ""


class StopDecided(Body, frozen=True, kw_only=True, tag="stop.decided"):
    """A proposal to stop, and the stop gate's answer."""

    claims: str  # canonical JSON of the claims
    text: str = ""
    declared_by: str = "agent"  # agent | framework | stop_reason
    outcome: str = "acted"  # acted | declined | withdrawn
    decision: str = ""
    now: str = ""
    truncated: bool = False  # the turn that says so was cut by length


class Issued(Body, frozen=True, kw_only=True, tag="certificate.issued"):
    """The certificate of a stop that was just accepted. It counts only where the run then ended CERTIFIED."""

    statement: str  # the in-toto Statement, canonical JSON text
    statement_sha256: str


class StopAnswered(Body, frozen=True, kw_only=True, tag="stop.answered"):
    """What the loop made of a refused stop, or of a call after one: go on, or stuck and why.

    It follows from the events before it and the limits it states, so a recheck counts again.
    """

    answer: Literal["CONTINUE", "STUCK"]
    reason: str = ""  # stable dotted code, for STUCK
    refused: Int = 0  # refused stops so far
    same: Int = 0  # times in a row that this very stop was refused with nothing new in the record
    calls: Int = 0  # calls proposed since the first refused stop
    turns: Int = 0  # assistant turns those calls came in, where turns were told
    unchanged: Int = 0  # reads in a row that said what they had said before
    limits: list[list[str]] = []  # [name, value] pairs the answer was given under


class Tenure(Body, frozen=True, kw_only=True, tag="tenure"):
    """A writer took the run's lease. A new epoch puts every open intent in doubt."""

    epoch: Int
    holder: str
    forced: bool = False


class Damage(Body, frozen=True, kw_only=True, tag="damage"):
    """Part of a trace that an importer could not read or pair. Recorded, never dropped silently."""

    code: str
    text: str
    line: Int | None = None


class OperationClosed(Body, frozen=True, kw_only=True, tag="operation.closed"):
    """A named operation is over; conditions limited to it end."""

    operation: str


class Transferred(Body, frozen=True, kw_only=True):
    """An artifact passed on, and what the handoff gate said of it. Everything but the artifact can be worked out again.

    `losses` are [blocker, field, how] each; `delivered_sha256` is the digest of what went on, "" where nothing did.
    """

    to: str
    sender: str
    form: str  # text | markdown | messages | ticket | ticket-text
    artifact: Blob  # as it was given
    delivered_sha256: str
    state: str  # complete | partial | edited | foreign | stale | absent
    verdict: Literal["accept", "repaired", "reject"]
    repair: bool  # whether repair was asked for
    decision: str  # canonical JSON of the `Decision` about the artifact as it was given
    carrier_sha256: str  # digest of the block that belongs to it; "" for none
    losses: list[list[str]] = []
    residual: list[str] | None = None  # what the sender says is left, where it says so beside the artifact
    hop: Int = 1
    prev: str = ""  # digest of the event of the hop before
    role: str = "system"  # role of the message that carries the block, among messages
    source: str = ""  # the run whose record it was compared with, where that is not this one
    now: str = ""
    bound: list[list[str]] | msgspec.UnsetType = msgspec.UNSET
    """Blockers of `source` that bind here from then on: [run, event] each, as in `Raised.origin`."""
    discarded: list[list[str]] | msgspec.UnsetType = msgspec.UNSET
    """Blocks of other runs that the host said bind nothing here: [run, digest of the carrier, or ""] each; unset where
    the host said nothing of the kind."""


class Handed(Transferred, frozen=True, kw_only=True, tag="handoff.sent"):
    """The side that passes an artifact on."""


class Received(Transferred, frozen=True, kw_only=True, tag="handoff.received"):
    """The side that takes an artifact: compared with the ledger, whatever the sender said of it."""


class ReplicaCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call a successor tried on a replica. It shows values for authoring, and proves nothing live."""

    id: str  # `replica-1`, …
    tool: str
    args: Blob
    result: Blob | None = None
    error: str | None = None


class ResidualFrozen(Body, frozen=True, kw_only=True, tag="takeover.frozen"):
    """A residual contract, frozen before the successor is asked. From here on the tenure alone may write.

    It follows from the events before it and the settings it states, so a recheck makes it again.
    """

    tenure: str  # id, unique in the run
    to: str  # name of the successor
    trigger: str  # the frontier rule that fired, or `explicit`
    residual: str  # canonical JSON of the `Residual`
    residual_sha256: str
    allow: list[str] = []  # tools whose effects the host allows on the way
    free: list[list[str]] = []  # [tool, argument] pairs whose text needs no source
    extracted: list[str] = []  # ids of the obligations an extractor added for this tenure
    now: str = ""


class ResidualJudged(Body, frozen=True, kw_only=True, tag="takeover.judged"):
    """A successor's whole proposal, the graph it was closed to, and the gate's answer. Rejected, nothing of it ran."""

    tenure: str
    attempt: Int
    proposal: Blob  # as the successor gave it
    replica: list[ReplicaCall] = []
    graph: str = ""  # canonical JSON of the `Graph`; "" where the proposal could not be closed
    graph_sha256: str = ""
    decision: str = ""
    now: str = ""


class ResidualStep(Body, frozen=True, kw_only=True, tag="takeover.step"):
    """One node of an admitted graph was realised, or failed. Judged against its live receipt."""

    tenure: str
    node: str
    call: str = ""  # the intent's call id; "" where the call was not admitted
    receipt: str = ""
    matched: bool
    code: str = ""  # stable dotted code of what did not match
    why: str = ""
    discharged: list[str] = []  # obligations whose evidence is valid after this step
    invalidated: list[str] = []  # obligations whose discharge was taken back in this tenure, so far


class ResidualEnded(Body, frozen=True, kw_only=True, tag="takeover.ended"):
    """A tenure of a successor is over: complete, or bottom (⊥). Bottom after a write promises no rollback."""

    tenure: str
    status: Literal["complete", "bottom"]
    reason: str  # stable dotted code
    writes: Int = 0  # state-changing calls that were dispatched
    discharged: list[str] = []
    now: str = ""


class ChildRun(Body, frozen=True, kw_only=True, tag="run.child"):
    """Where a child run stands, as the runtime that owns both recorded it in the parent's ledger."""

    child: str  # run id
    status: Literal["open", "CERTIFIED", "IN_DOUBT", "BLOCKED", "UNCERTIFIED"]


class Ended(Body, frozen=True, kw_only=True, tag="run.ended"):
    """The run's final status, owned by the runtime."""

    status: Literal["CERTIFIED", "IN_DOUBT", "BLOCKED", "UNCERTIFIED"]
    outcome: str = ""  # acted | declined | withdrawn, for CERTIFIED
    reason: str = ""  # stable dotted code


AnyBody = (
    Started | Said | Intent | Receipt | Refusal | Confirmation | Approval | Raised | Lifted | Obliged | Settled | Wish
    | DoubtSettled | Stated | SchemaChanged | ContractChanged | Reported | StopDecided | Issued | StopAnswered
    | Tenure | Damage | OperationClosed | ChildRun | Handed | Received
    | ResidualFrozen | ResidualJudged | ResidualStep | ResidualEnded | Ended
)  # fmt: skip


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a run's ledger.

    Attributes:
        v: envelope version.
        run: run id.
        seq: 1-based position in the run.
        at: RFC 3339 UTC instant it was appended.
        actor: who it comes from.
        body: what it says; the body's tag is the event's kind.
        prev: digest of the event before it (`GENESIS` for the first).
    """

    v: Int
    run: str
    seq: Int
    at: str
    actor: Actor
    body: AnyBody
    prev: str

    @property
    def kind(self) -> str:
        """The body's tag, e.g. `intent`."""
        return str(self.body.__struct_config__.tag)


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """An event with its canonical bytes and digest: what a store keeps and a view folds."""

    event: Event
    raw: bytes
    digest: str


_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_DECODER: Final = msgspec.json.Decoder(Event)


def seal(event: Event) -> Sealed:
    """Return `event` with its RFC 8785 bytes and SHA-256.

    Raises:
        InputError: a string holds a lone surrogate, an integer is beyond 2^53 - 1, or a field has a value of the wrong
            type or outside its list, so that the event could be written but never read again.
    """
    # Every field is typed, every key is an ASCII field name, so msgspec's sorted bytes are RFC 8785 (see canonical.py);
    # the property test compares this against `canonical(to_builtins(event))`. Structs are not checked when they are
    # made, so the bytes are read back once: what is appended must be readable for ever.
    try:
        raw = _ENCODER.encode(event)
        _DECODER.decode(raw)
    except (TypeError, ValueError, RecursionError) as bad:
        raise InputError(f"an event cannot be written: {bad}") from None
    return Sealed(event=event, raw=raw, digest=digest(raw))


def unseal(raw: bytes) -> Sealed:
    """Return the event whose canonical bytes are `raw`.

    Raises:
        InputError: not an event, an unknown kind, or not in canonical form (so its digest would name other bytes).
    """
    try:
        event = _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as bad:
        raise InputError(f"not an event: {bad}") from None
    if event.v != ENVELOPE_VERSION:
        raise InputError(
            f"envelope version {event.v}, this version reads {ENVELOPE_VERSION}", fix="read it with a newer tallystick"
        )
    if _ENCODER.encode(event) != raw:
        raise InputError("not in canonical form (RFC 8785), or it has fields this version does not know")
    return Sealed(event=event, raw=raw, digest=digest(raw))
