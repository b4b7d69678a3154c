"""The guard: one contract, one ledger, the tools; makes runs and takes them up again."""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick.contracts import Contract, Task, load, load_task, task_text
from tallystick.contracts.types import Principal
from tallystick.errors import InputError
from tallystick.gates.stop_policies import StopPolicy
from tallystick.ledger.keys import load_signing_key
from tallystick.ledger.memory import MemoryStore
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.ledger.store import Store
from tallystick.model.canonical import digest
from tallystick.model.events import SEMANTICS, Started, Tenure
from tallystick.progress import Encoding
from tallystick.runtime.blocking import Down, handed_down, take_over
from tallystick.runtime.bounds import Bounds, Limits
from tallystick.runtime.controls import Control, controls_in
from tallystick.runtime.heartbeat import Heartbeat
from tallystick.runtime.journal import RUNTIME, Clock, Journal
from tallystick.runtime.known import count_in, seconds_in, tools_in, typed
from tallystick.runtime.metrics import report_counter
from tallystick.runtime.principals import view_of
from tallystick.runtime.run import Run
from tallystick.runtime.secrets import run_key
from tallystick.runtime.standing import encoding_in
from tallystick.runtime.takeover_record import INTERRUPTED, end_tenure
from tallystick.runtime.turns import policy_in
from tallystick.view.frozen import frozen_in

LEASE_SECONDS: Final = 60.0
_LIMITS: Final = Limits()
REFUSAL_BUDGET: Final = _LIMITS.refusals
SAME_REFUSAL_LIMIT: Final = _LIMITS.same
STOP_BUDGET: Final = _LIMITS.stops
CALLS_AFTER_STOP: Final = _LIMITS.calls
POLL_BUDGET: Final = _LIMITS.polls
PATIENCE: Final = 30.0


def utc_now() -> datetime:
    """Return the present instant, UTC."""
    return datetime.now(UTC)


def _contract(given: object) -> Contract:
    if isinstance(given, Contract):
        return given
    if isinstance(given, Mapping):
        raise InputError("a mapping is no contract yet", where="contract", fix="`contracts.build(mapping)` makes one")
    if isinstance(given, str) and ("\n" in given or given.lstrip().startswith("contract:")):
        raise InputError("this is a contract's text, not the path of its file", where="contract",
                         fix="`contracts.parse(text)` makes a contract of it")  # fmt: skip
    if not isinstance(given, (str, os.PathLike)):
        raise InputError(f"a {type(given).__name__} is no contract", where="contract", fix="a `Contract`, or a path")
    return load(Path(given))


def _named(contract: Contract) -> str:
    return f"`{contract.name}/{contract.version}` ({contract.sha256[:12]})"


def _signer(given: object) -> Ed25519PrivateKey | None:
    if given is None or isinstance(given, Ed25519PrivateKey):
        return given
    if not isinstance(given, (str, os.PathLike)):
        raise InputError(f"a {type(given).__name__} is no signing key", where="sign_with",
                         fix="an Ed25519 private key, or the path of its PEM file")  # fmt: skip
    return load_signing_key(given)


def _principals(given: object) -> tuple[Principal, ...]:
    if isinstance(given, Principal):
        return (given,)
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise InputError(f"a {type(given).__name__} is no list of principals", where="principals", fix="[Principal(…)]")
    found = tuple(given)
    for one in found:
        if not isinstance(one, Principal):
            raise InputError(f"a {type(one).__name__} is no principal", where="principals",
                             fix="`Principal.from_key(id, role, key)`")  # fmt: skip
    return found


def _check_names(contract: Contract, task: Task) -> None:
    """Refuse a principal whose id is what somebody else is named by: an approval by `finance` would then be anybody's.

    An authority can be a principal or a role, so one name must never be both.
    """
    needed = {tool.needs_approval for tool in contract.tools.values() if tool.needs_approval}
    for at, one in enumerate(task.principals):
        rest = (*task.principals[:at], *task.principals[at + 1 :])
        if any(one.id == other.id for other in rest):
            raise InputError(f"two principals have the id `{one.id}`", where="principals", fix="an id for each")
        if one.id != one.role and (one.id in needed or any(one.id == other.role for other in rest)):
            raise InputError(
                f"the id of principal `{one.id}` is the name of a role that it does not have",
                where="principals",
                fix="another id; or that role, if it may decide in it",
            )


def _check_approvers(contract: Contract, task: Task, controls: Iterable[Control]) -> None:
    """Refuse a run in which a call would wait for an approval that nobody can ever give."""
    here = {name for p in task.principals for name in (p.id, p.role)}
    needed = [(f"`{tool.name}`", tool.needs_approval) for tool in contract.tools.values()]
    needed += [(f"the control `{one.name}`", one.role) for one in controls]
    for what, role in needed:
        if role is None or role in here or (not role and here):
            continue
        raise InputError(
            f"{what} needs approval by {f'`{role}`' if role else 'a principal'}, and no principal of this run "
            "can give it",
            where="principals",
            fix="name one at the start" + (f" (named are {', '.join(sorted(here))})" if here else "")
            + ", or `without_approvers=True` to start all the same",
        )  # fmt: skip


def new_run_id() -> str:
    """Return a run id: its day and a random part."""
    return f"run-{utc_now():%Y%m%d}-{secrets.token_hex(5)}"


class Guard:
    """Stands between an agent and its tools: a call runs only if the record supports it, and leaves a receipt.

    Args:
        contract: the contract, or the path of its file.
        ledger: path of the ledger file (made when missing), a store, or None to keep runs in memory only.
        tools: tool name → callable, sync or async. More can be registered on a run.
        timeout: seconds to wait for a tool; None waits for ever. After it, a write is in doubt.
        refusal_budget: refusals after which a run ends, of calls and stops together.
        same_refusal_limit: times the same proposal may be refused with nothing new in the record.
        stop_budget: refused stops after which a run ends.
        calls_after_stop: calls an agent may propose after its first refused stop; None: no limit.
        turns_after_stop: assistant turns with calls after the first refused stop, where `turn` is told; None: no limit.
        poll_budget: reads in a row that say what they said before, after which a run ends; None: no limit.
        poll_interval: seconds after which the same read with the same answer is no sign of a circle; None: such a read
            is none only where the contract or the record waits for it.
        patience: seconds an identical parallel call waits for the first one's receipt before it is held.
        lease_seconds: how long after this process was killed another may take a run over; renewed while it lives.
        report: how the agent was asked to report its progress, `xml` or `json` (`progress.instructions` words it): what
            it says is then read for reports, and each is compared with the derived stage. None: nothing is read.
        metrics: count reports as OpenTelemetry metrics, by how they stand to the stage: True for the global meter
            provider, or a provider; needs the extra `otel`. None counts nothing.
        stop_policy: what ends the run in `Run.turn`: `A` and `A-matched`, the derived stage and then the stop gate; or,
            to be compared with them, `B1` (a marker in the text; sets `report` to `xml` if it is None) and `B2` (a turn
            without a call), under which no run is ever CERTIFIED.
        claims_from_text: read what a final text states for the answer slots where no claims are given beside it.
        clock: returns the present instant, with a time zone; default the machine's.
        ids: makes run ids; default a day and a random part.
        holder: who holds the leases, for people; default host and process id.
        sign_with: Ed25519 key, or the path of its PEM file, that signs the certificate of each run that ends CERTIFIED
            (`Finish.envelope`). None signs nothing; `tallystick certificate` can sign later.
        controls: endpoint controls asked before a consequential call that the act gate admits (`runtime.controls`):
            visible authorisation, a permission lookup, a human's approval. Default: the act gate alone.

    Raises:
        ContractError: the contract is invalid: a run under an invalid contract is never started.
        InputError, LedgerError: a file cannot be used, or a setting is out of range.
    """

    def __init__(
        self,
        contract: Contract | str | os.PathLike[str],
        ledger: Store | str | os.PathLike[str] | None = None,
        *,
        tools: Mapping[str, Callable[..., Any]] | None = None,
        timeout: float | None = None,
        refusal_budget: int = REFUSAL_BUDGET,
        same_refusal_limit: int = SAME_REFUSAL_LIMIT,
        stop_budget: int = STOP_BUDGET,
        calls_after_stop: int | None = CALLS_AFTER_STOP,
        turns_after_stop: int | None = None,
        poll_budget: int | None = POLL_BUDGET,
        poll_interval: float | None = None,
        patience: float = PATIENCE,
        lease_seconds: float = LEASE_SECONDS,
        report: Encoding | None = None,
        metrics: Any = None,
        stop_policy: str | StopPolicy = "A",
        claims_from_text: bool = True,
        clock: Clock | None = None,
        ids: Callable[[], str] | None = None,
        holder: str | None = None,
        sign_with: Ed25519PrivateKey | str | os.PathLike[str] | None = None,
        controls: Iterable[Control] | Control = (),
    ) -> None:
        count_in("refusal_budget", refusal_budget)
        count_in("same_refusal_limit", same_refusal_limit)
        count_in("stop_budget", stop_budget)
        after = {"calls_after_stop": calls_after_stop, "turns_after_stop": turns_after_stop, "poll_budget": poll_budget}
        for name, given in after.items():
            if given is not None:
                count_in(name, given)
        if poll_interval is not None:
            seconds_in("poll_interval", poll_interval, or_none="no interval")
        seconds_in("lease_seconds", lease_seconds)
        seconds_in("patience", patience, zero=True)
        if timeout is not None:
            seconds_in("timeout", timeout, or_none="wait for ever")
        self.contract = _contract(contract)
        self.signer = _signer(sign_with)
        self.controls = controls_in(controls, self.contract)
        self.tools = tools_in(self.contract, tools if tools is not None else {})
        self._owns_store = ledger is None or isinstance(ledger, (str, os.PathLike))
        self.store: Store
        if ledger is None:
            self.store = MemoryStore()
        elif isinstance(ledger, (str, os.PathLike)):
            self.store = SQLiteStore(ledger)
        else:
            self.store = ledger
        self.timeout = timeout
        self.limits = Limits(
            refusals=refusal_budget,
            same=same_refusal_limit,
            stops=stop_budget,
            calls=calls_after_stop,
            turns=turns_after_stop,
            polls=poll_budget,
            interval=poll_interval,
        )
        self.patience = patience
        self.lease_seconds = lease_seconds
        self.stop_policy = policy_in(stop_policy)
        self.report = encoding_in(report if report is not None or not self.stop_policy.needs_reports else "xml")
        self.count_report = report_counter(metrics)
        typed("claims_from_text", claims_from_text, bool)
        self.claims_from_text = claims_from_text
        self.clock = clock or utc_now
        self.ids = ids or new_run_id
        self.holder = holder or f"{platform.node() or 'host'}:{os.getpid()}"
        self.heartbeat = Heartbeat(lease_seconds)

    def run(
        self,
        task: Task | Mapping[str, Any] | str | None = None,
        *,
        run_id: str | None = None,
        principals: Iterable[Principal] | Principal = (),
        parent: Run | None = None,
        without_approvers: bool = False,
    ) -> Run:
        """Start a run.

        Args:
            task: what it owes: a `Task`, a mapping or text as in a task file, or None for the empty task.
            run_id: its id; made where None.
            principals: who may approve, waive and settle, besides those the task names, and those of the parent.
            parent: the run this one is a child of.
            without_approvers: start although the contract or an endpoint control demands approvals that no principal
                of this run can give; calls that need one are then held to the end.

        Raises:
            ContractError: the task does not fit the contract.
            InputError: a tool or a control needs approval and no principal has the role, a principal is named as a role
                it does not have, the run exists already (resume it), or its id cannot be used.
            LedgerError: the ledger cannot be written.
        """
        frozen = self._task(task, _principals(principals), parent.task.principals if parent is not None else ())
        _check_names(self.contract, frozen)
        if not without_approvers:
            _check_approvers(self.contract, frozen, self.controls)
        name = run_id if run_id is not None else self.ids()
        if self.store.head(name).seq:
            raise InputError(f"the run `{name}` exists already", fix="resume it, or give another id")
        body = Started(
            semantics=SEMANTICS,
            contract=self.contract.text,
            contract_sha256=self.contract.sha256,
            task=(text := task_text(frozen)),
            task_sha256=digest(text.encode("utf-8")),
            principals=[[p.id, p.role, p.public_key.hex()] for p in frozen.principals],
            parent=parent.id if parent is not None else None,
            controls=[one.recorded() for one in self.controls] or msgspec.UNSET,
        )
        lease = self.store.acquire(name, self.holder, self.clock(), self.lease_seconds)
        bounds = Bounds(self.limits)
        journal = Journal(self.store, lease, self.contract, frozen, self.clock, bounds)
        try:
            key = run_key(self.store, name, self.contract)
            # First the parent knows of its child, then there is one: no child is ever forgotten.
            if parent is not None and not parent.note_child(name, "open"):
                raise InputError("the parent run has ended, or its record cannot be continued", where=parent.id)
            journal.append(body, RUNTIME, durable=True)
            if parent is not None:  # what blocks the parent blocks whoever it hands the work to
                take_over(journal, parent.still(lambda view: handed_down(view, self.contract.sha256, self.clock())))
            # Last: a record without any tenure is of a start that was cut short, and `resume` goes on with it.
            journal.append(Tenure(epoch=lease.epoch, holder=self.holder), RUNTIME, durable=True)
        except BaseException:
            self.store.release(lease)
            raise
        return self._made(journal, self.contract, bounds, key, parent)

    def resume(
        self,
        run_id: str,
        *,
        force: bool = False,
        parent: Run | None = None,
        frozen: bool = False,
        without_controls: bool = False,
    ) -> Run:
        """Take up a run that an earlier tenure left or lost.

        Its view is folded from the ledger, this tenure gets a higher epoch, and every call without a receipt is in
        doubt from now on. The run is judged by the contract and task it was started with.

        Args:
            run_id: its id.
            force: take over although another writer's lease is live; that writer is refused from then on.
            parent: the run this one is a child of, if it is.
            frozen: go on although this guard's contract is another one than the run's: the run's own, frozen at its
                start, still judges it.
            without_controls: go on although this guard lacks an endpoint control that the run was started under; calls
                that waited for it may then run without it.

        Raises:
            LeaseHeldError: another process is writing the run.
            InputError: there is no such run, it has ended, it was judged by other semantics, or this guard has another
                contract or lacks a control of the run's.
            LedgerError: the ledger cannot be read or written, or its content was changed.
        """
        first = next(iter(self.store.events(run_id)), None)
        if first is None or not isinstance(first.event.body, Started):
            raise InputError(f"there is no run `{run_id}` in the ledger", fix="list the runs with `tallystick runs`")
        contract, task = frozen_in(first.event.body, self.contract)
        if contract.sha256 != self.contract.sha256 and not frozen:
            raise InputError(
                f"it was started under {_named(contract)}, and this guard has {_named(self.contract)}: a run is judged "
                "by the contract it was started with",
                where=f"run `{run_id}`",
                fix="give the guard that contract, or `resume(..., frozen=True)` to go on under the run's own",
            )
        if not without_controls:
            self._check_controls(run_id, first.event.body)
        lease = self.store.acquire(run_id, self.holder, self.clock(), self.lease_seconds, force)
        bounds = Bounds(self.limits)
        journal = Journal(self.store, lease, contract, task, self.clock, bounds)
        try:
            journal.load()
            if journal.view.ended is not None:
                raise InputError(f"the run `{run_id}` has ended: {journal.view.ended.status}", fix="start a new run")
            key = run_key(self.store, run_id, contract)
            if first.event.body.parent is not None and not journal.view.epoch:
                take_over(journal, self._handed_down(first.event.body.parent, parent, contract))
            journal.append(Tenure(epoch=lease.epoch, holder=self.holder, forced=force), RUNTIME, durable=True)
            # Whoever was finishing the rest is gone; what it left under way is in doubt, and its contract is not used
            # again: another successor gets a fresh one.
            end_tenure(journal, "bottom", INTERRUPTED)
        except BaseException:
            self.store.release(lease)
            raise
        return self._made(journal, contract, bounds, key, parent)

    def _handed_down(self, name: str, parent: Run | None, contract: Contract) -> tuple[Down, ...]:
        """Return what a child whose start was cut short takes over before anything else.

        Raises:
            InputError: the parent's record is not to be had; without it nobody knows what blocks the child.
        """
        if parent is not None and parent.id == name:
            return parent.still(lambda view: handed_down(view, contract.sha256, self.clock()))
        if not self.store.head(name).seq:
            raise InputError(
                f"its start was cut short, and the record of its parent `{name}`, whose blockers it takes over, is not "
                "in this ledger",
                where="resume",
                fix="`resume(..., parent=…)` with the parent run",
            )
        return handed_down(view_of(self.store, name), contract.sha256, self.clock())

    def close(self) -> None:
        """Close the ledger this guard opened. Runs must have been left before."""
        if self._owns_store:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _task(
        self,
        task: Task | Mapping[str, Any] | str | None,
        principals: tuple[Principal, ...],
        inherited: tuple[Principal, ...],
    ) -> Task:
        frozen = task if isinstance(task, Task) else load_task(task if task is not None else "", self.contract)
        if principals:
            frozen = replace(frozen, principals=(*frozen.principals, *principals))
        named = {p.id for p in frozen.principals}
        frozen = replace(frozen, principals=(*frozen.principals, *(p for p in inherited if p.id not in named)))
        # Read back through its own text: a resumed run must be judged by exactly the same task.
        return load_task(task_text(frozen), self.contract)

    def _check_controls(self, run_id: str, started: Started) -> None:
        """Refuse to go on without a control: a call that waits for it would run unasked."""
        mine = [one.recorded() for one in self.controls]
        for lacking in started.controls if isinstance(started.controls, list) else ():
            if lacking and lacking not in mine:
                name, role, tools = lacking[0], "".join(lacking[1:2]), lacking[2:]
                what = f"`{name}`" + (f" by `{role}`" if role else "") + (f" for {', '.join(tools)}" if tools else "")
                raise InputError(
                    f"it was started under the endpoint control {what}, and this guard has none such",
                    where=f"run `{run_id}`",
                    fix="give the guard the same `controls`, or `resume(..., without_controls=True)` to go on without",
                )

    def _made(self, journal: Journal, contract: Contract, bounds: Bounds, key: bytes | None, parent: Run | None) -> Run:
        self.heartbeat.add(journal)
        return Run(self, journal, contract, bounds, key=key, parent=parent)
