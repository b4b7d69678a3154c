"""`tallystick approve` and `tallystick settle`: what only a person (or a service) with a key may say.

Run them where the key is, out of the agent's reach; see docs/threat-model.md. Both sign an event and put it in the
ledger's inbox; the run's writer takes it in before its next decision, and where nobody writes the run it is taken in at
once.
"""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick.cli import console
from tallystick.cli.console import Json
from tallystick.cli.sources import LedgerArgument, choose, reading, writing
from tallystick.errors import InputError, TallystickError
from tallystick.ledger.keys import public_bytes, signing_key
from tallystick.ledger.store import Store
from tallystick.model import jsontext
from tallystick.model.events import Approval
from tallystick.model.values import instant_of
from tallystick.runtime.blocking import blockers_of
from tallystick.runtime.letters import Signed, read_letter
from tallystick.runtime.listing import Listed, Unanswered, listed, standing_text, unanswered
from tallystick.runtime.pending import Pending, pending
from tallystick.runtime.principals import deliver, signed_approval, signed_lift, signed_settlement, view_of
from tallystick.view import View
from tallystick.view.records import CallRecord

T = TypeVar("T")
_SPAN: Final = re.compile(r"(\d{1,6})([smhd])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}

RunOption = Annotated[
    str | None,
    typer.Option("--run", metavar="RUN", help="Run id; without it, every run of the ledger is looked at."),
]
KeyOption = Annotated[
    Path | None, typer.Option("--key", metavar="FILE", help="The principal's signing key (Ed25519, PEM, mode 0600).")
]
AsOption = Annotated[
    str | None,
    typer.Option("--as", metavar="ID", help="Which principal, where several of the run's principals share the key."),
]


def approve(
    ledger: LedgerArgument,
    refusal: Annotated[
        int | None,
        typer.Argument(metavar="NUMBER", help="The refusal's event number, as listed. Without it, list what waits."),
    ] = None,
    run: RunOption = None,
    key: KeyOption = None,
    principal: AsOption = None,
    deny: Annotated[bool, typer.Option("--deny", help="Deny the call instead.")] = False,
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="WHEN", help="15m, 2h, 1d or an RFC 3339 instant. Default: never."),
    ] = None,
    blocker: Annotated[
        str | None,
        typer.Option("--blocker", metavar="ID", help="Resolve this blocker, as its authority; no call is named then."),
    ] = None,
    json: Json = False,
) -> None:
    """Approve (or deny) one call that waits for a principal; without NUMBER, list the calls that wait.

    An approval is signed, good once, for this tool with these very arguments in this run. The agent proposes the call
    again to use it. With --blocker, a blocker of the run is resolved for good, by the authority it names and nobody
    else; `tallystick blockers` lists them.
    """
    if blocker is not None:
        if refusal is not None or deny or expires is not None:
            fix = "leave NUMBER, --deny and --expires out; or approve one call by its NUMBER"
            raise InputError("a blocker is resolved as a whole, or it stays", where="--blocker", fix=fix)
        _resolve(ledger, blocker, run, key, principal, json=json)
        return
    with reading(ledger) as store:
        views = _views(store, run, ledger)
        waits = [
            (name, call, _posted(store, name, call))
            for name, view in views.items()
            for call in pending(view, view.contract)
        ]
    if refusal is None:
        _list_pending(run or _only(views), waits, views, json=json)
        return
    found = [(name, call) for name, call, _ in waits if call.refusal == refusal]
    chosen, call = _one(found, f"waits under the number {refusal}", "approve", ledger, run)
    view = views[chosen]
    who, signer = _signer(view, key, principal)
    decision: Literal["approve", "deny"] = "deny" if deny else "approve"
    body = signed_approval(
        chosen,
        who,
        signer,
        call.tool,
        args_sha256=call.args_sha256,
        decision=decision,
        expires=_instant(expires),
        condition=call.condition,
    )
    told = _deliver(ledger, chosen, body)
    if json:
        console.emit(
            {
                "run": chosen,
                "approval": body.id,
                "decision": decision,
                "principal": who,
                "tool": call.tool,
                "args_sha256": call.args_sha256,
                "expires": body.expires or None,
                "recorded": told,
            }
        )
        return
    done = "denied" if deny else "approved"
    console.say(f"{done} by {who}: {call.tool}({jsontext.dumps(call.args)}), once; {_where(told)}")


def _resolve(ledger: Path, name: str, run: str | None, key: Path | None, principal: str | None, *, json: bool) -> None:
    """Resolve a blocker as its authority: a signed event, which the run's writer takes in."""
    with reading(ledger) as store:
        chosen = choose(store, run, ledger, option="--run")
        view = view_of(store, chosen)
    found = next((b for b in blockers_of(view, view.contract, datetime.now(UTC)) if b.blocker.id == name), None)
    if found is None:
        raise InputError(f"there is no blocker `{name}`", where=f"run `{chosen}`",
                         fix=f"`tallystick blockers {ledger} {chosen}` lists them")  # fmt: skip
    if found.standing in ("resolved", "over"):
        raise InputError(f"`{name}` does not hold any more: {found.ended_how}", where=f"run `{chosen}`")
    if found.blocker.standing:
        raise InputError(f"`{name}` is a condition of the contract, which stands", where=f"run `{chosen}`",
                         fix=f"approve the call it holds: `tallystick approve {ledger} NUMBER --key FILE`")  # fmt: skip
    who, signer = _signer(view, key, principal)
    authority = found.blocker.authority
    if authority and authority not in (who, view.role_of(who)):
        raise InputError(f"`{name}` is decided by `{authority}`, and `{who}` has the role `{view.role_of(who)}`",
                         where=f"run `{chosen}`", fix=f"the key of `{authority}`")  # fmt: skip
    told = _deliver(ledger, chosen, signed_lift(chosen, who, signer, name))
    if json:
        console.emit({"run": chosen, "blocker": name, "how": "resolved", "principal": who, "recorded": told})
        return
    console.say(f"resolved by {who}: {name} ({found.blocker.prerequisite or 'no prerequisite named'}); {_where(told)}")
    if view.ended is not None:
        console.note(f"run {chosen} has ended {view.ended.status}: none of its calls can use this any more")


def settle(
    ledger: LedgerArgument,
    call: Annotated[
        str | None, typer.Argument(metavar="CALL", help="The call, as listed. Without it, list the calls in doubt.")
    ] = None,
    run: RunOption = None,
    key: KeyOption = None,
    principal: AsOption = None,
    happened: Annotated[bool, typer.Option("--happened", help="The call in doubt took effect.")] = False,
    did_not_happen: Annotated[bool, typer.Option("--did-not-happen", help="It did not.")] = False,
    text: Annotated[str, typer.Option("--note", metavar="TEXT", help="How you know; kept in the record.")] = "",
    json: Json = False,
) -> None:
    """Settle a call in doubt by a principal's signed word; without CALL, list the calls in doubt.

    A call is in doubt where nobody knows whether it took effect. Nothing like it runs, and no run is certified, until a
    status query of the contract or a principal has settled it. Look before you sign: what is settled stays so. Listed
    too are calls under way: without a receipt so far, and in doubt if their process is gone.
    """
    if happened and did_not_happen:
        raise InputError("`--happened` and `--did-not-happen` contradict each other", fix="give one of them")
    with reading(ledger) as store:
        views = _views(store, run, ledger)
        doubtful = [(name, c) for name, v in views.items() for c in _doubtful(store, name, v).values()]
        waiting = [] if call is not None else _under_way(store, views)
    if call is None:
        _list_doubts(run or _only(views), doubtful, waiting, json=json)
        return
    chosen, doubt = _one([d for d in doubtful if d[1].id == call], f"`{call}` is in doubt", "settle", ledger, run)
    view = views[chosen]
    if not happened and not did_not_happen:
        raise InputError("say what the call came to", fix="give --happened or --did-not-happen")
    who, signer = _signer(view, key, principal)
    body = signed_settlement(chosen, who, signer, call, "ok" if happened else "no_effect", text)
    told = _deliver(ledger, chosen, body)
    if json:
        console.emit({"run": chosen, "call": call, "outcome": body.outcome, "principal": who, "recorded": told})
        return
    said = "it happened" if happened else "it did not happen"
    console.say(f"settled by {who}: {doubt.tool} ({call}): {said}; {_where(told)}")


def _views(store: Store, run: str | None, ledger: Path) -> dict[str, View]:
    """Return the view of the run named, or of every run; one that cannot be read is named on stderr."""
    if run is not None:
        return {run: view_of(store, choose(store, run, ledger))}
    names = [row.run for row in store.runs()]
    if len(names) == 1:
        return {names[0]: view_of(store, names[0])}
    views = {}
    for name in names:
        try:
            views[name] = view_of(store, name)
        except TallystickError as bad:
            console.complain(f"run {name}: {bad}")
    return views


def _only(views: dict[str, View]) -> str | None:
    return next(iter(views)) if len(views) == 1 else None


def _one(found: list[tuple[str, T]], what: str, command: str, ledger: Path, run: str | None) -> tuple[str, T]:
    """Return the one call meant, with its run.

    Raises:
        InputError: there is none, or one in each of several runs.
    """
    named = f" --run {run}" if run is not None else ""
    if not found:
        raise InputError(
            f"no call {what}",
            where=f"run `{run}`" if run is not None else str(ledger),
            fix=f"`tallystick {command} {ledger}{named}` lists what there is",
        )
    if len(found) > 1:
        runs = ", ".join(f"`{name}`" for name, _ in found)
        raise InputError(f"a call {what} in several runs: {runs}", where=str(ledger), fix="name the run with --run")
    return found[0]


def _posted(store: Store, run: str, call: Pending) -> str:
    """Return the decision (`approve`, `deny`) that was posted about a call and not taken in yet, the newest, or ""."""
    said = ""
    for letter in store.posted(run):
        try:
            body = read_letter(letter.raw)
        except InputError:
            continue  # the run's writer records it as damage
        if isinstance(body, Approval) and (body.tool, body.args_sha256) == (call.tool, call.args_sha256):
            said = body.decision
    return said


def _under_way(store: Store, views: dict[str, View]) -> list[tuple[Listed, tuple[Unanswered, ...]]]:
    """Return the live runs with calls that have no receipt: their answer may come, or they will be in doubt."""
    live = [one for one in listed(store, datetime.now(UTC)) if one.row.run in views and one.standing == "live"]
    found = [(one, unanswered(store, one.row.run)) for one in live]
    return [(one, calls) for one, calls in found if calls]


def _doubtful(store: Store, run: str, view: View) -> dict[str, CallRecord]:
    """Return the calls in doubt; where the run's writer is gone, also those it left without a receipt."""
    standing = next((one.standing for one in listed(store, datetime.now(UTC)) if one.row.run == run), "ended")
    open_calls = {} if standing == "live" else {name: view.calls[name] for name in view.open_calls}
    return {**open_calls, **view.doubts}


def _deliver(ledger: Path, run: str, body: Signed) -> bool:
    with writing(ledger) as store:
        return deliver(
            store,
            run,
            body,
            clock=lambda: datetime.now(UTC),
            holder=f"{platform.node() or 'host'}:{os.getpid()} (tallystick)",
            take_expired=True,
        )


def _signer(view: View, key: Path | None, principal: str | None) -> tuple[str, Ed25519PrivateKey]:
    """Return who signs, and the key: the run's principal whose public key it is."""
    if key is None:
        raise InputError("this has to be signed", fix="give the principal's signing key with --key FILE")
    if not key.exists():  # `signing_key` would make one, which is no principal's
        raise InputError("there is no such key", where=str(key), fix="check the path")
    start = key.read_bytes()[:4096]
    if b"-----BEGIN PUBLIC KEY" in start:
        signing = key.with_name(key.name.removesuffix(".pub"))
        fix = f"give the signing key{f', `{signing}`' if signing != key else ''}"
        raise InputError("this is the public half, which cannot sign", where=str(key), fix=fix)
    if b"-----BEGIN" not in start:
        raise InputError("not a key", where=str(key), fix="give the file that `tallystick keygen` wrote")
    signer = signing_key(key)
    public = public_bytes(signer)
    theirs = [p.id for p in view.task.principals if p.public_key == public]
    if principal is not None:
        theirs = [name for name in theirs if name == principal]
    if len(theirs) == 1:
        return theirs[0], signer
    if theirs:
        raise InputError("several principals share this key", fix=f"give --as with one of {', '.join(theirs)}")
    known = ", ".join(p.id for p in view.task.principals) or "none"
    whose = f"`{principal}`" if principal is not None else "a principal of the run"
    raise InputError(
        f"it is not the key of {whose}",
        where=str(key),
        fix=f"a run's principals and their keys are named at its start; this one has {known}",
    )


def _instant(text: str | None) -> datetime | None:
    if text is None:
        return None
    span = _SPAN.fullmatch(text)
    if span is not None:
        return datetime.now(UTC) + timedelta(**{_UNITS[span[2]]: int(span[1])})
    try:
        return instant_of(text)
    except ValueError:
        why = "is in the past" if _SPAN.fullmatch(text.removeprefix("-")) else "is no span and no instant"
        raise InputError(f"`{text}` {why}", where="--expires", fix="15m, 2h, 1d or 2026-12-01T12:00:00Z") from None


def _list_pending(
    run: str | None, calls: list[tuple[str, Pending, str]], views: dict[str, View], *, json: bool
) -> None:
    if json:
        found = [{"run": name, **_pending_json(call), "posted": posted or None} for name, call, posted in calls]
        console.emit({"run": run, "pending": found})
        return
    if not calls:
        whose = f"run {run}: no call" if run else "no call of any run"
        console.note(f"{whose} waits for a principal")
    for name, call, posted in calls:
        whose = "" if run else f"  (run {name})"
        console.say(f"{call.refusal}  {call.tool}({jsontext.dumps(call.args)}){whose}")
        console.say(f"   {', '.join(call.codes)}: {call.message}")
        if call.condition in views[name].conditions:
            console.say(f"   by its number, this call alone; for good, --run {name} --blocker {call.condition}")
        if posted:
            done = "an approval" if posted == "approve" else "a denial"
            console.say(f"   {done} is posted; the run's writer takes it in before its next decision")


def _pending_json(call: Pending) -> dict[str, Any]:
    return {
        "number": call.refusal,
        "tool": call.tool,
        "args": call.args,
        "args_sha256": call.args_sha256,
        "codes": list(call.codes),
        "condition": call.condition,
        "message": call.message,
    }


def _list_doubts(
    run: str | None,
    calls: list[tuple[str, CallRecord]],
    waiting: list[tuple[Listed, tuple[Unanswered, ...]]],
    *,
    json: bool,
) -> None:
    if json:
        found = [
            {
                "run": name,
                "call": c.id,
                "tool": c.tool,
                "args": c.args,
                "why": c.why,
                "at": c.at.isoformat() if c.at else None,
            }
            for name, c in calls
        ]
        still = [
            {"run": one.row.run, "call": c.call, "tool": c.tool, "at": c.at, "standing": standing_text(one)}
            for one, unread in waiting
            for c in unread
        ]
        console.emit({"run": run, "in_doubt": found, "under_way": still})
        return
    if not calls:
        yet = " yet" if waiting else ""
        console.note(f"run {run}: nothing is in doubt{yet}" if run else f"nothing is in doubt{yet} in any run")
    for name, call in calls:
        at = f", {console.when(call.at.isoformat())}" if call.at else ""
        whose = "" if run else f"  (run {name})"
        console.say(f"{call.id}  {call.tool}({jsontext.dumps(call.args)}){at}{whose}")
        console.say(f"   {call.why or 'no receipt: nobody knows whether it took effect'}")
    for one, unread in waiting:
        names = ", ".join(f"{c.call} ({c.tool})" for c in unread)
        console.say(f"run {one.row.run}: no receipt yet for {names}")
        console.say(f"   {standing_text(one)}, and in doubt after it if unanswered")


def _where(recorded: bool) -> str:
    return "it is in the record" if recorded else "posted; the run's writer takes it in before its next decision"
