"""`tallystick export` and `tallystick verify`: a run as a file, and whether to believe such a file or a certificate."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer

from tallystick.certificates.check import Checked, check_certificate
from tallystick.certificates.envelope import looks_like_envelope
from tallystick.cli import console
from tallystick.cli.console import Json
from tallystick.cli.sources import LedgerArgument, choose, is_sqlite, reading
from tallystick.errors import InputError
from tallystick.ledger.export import export as write_export
from tallystick.ledger.fsck import fsck
from tallystick.ledger.keys import load_public_key, signing_key
from tallystick.ledger.verify import Verification
from tallystick.ledger.verify import verify as verify_export

_HEADER_BYTES: Final = 4096
_UNAUTHENTICATED: Final = (
    "it is consistent in itself; who wrote it is known only under --key with the signer's public key"
)


def export(
    ledger: LedgerArgument,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run id; `tallystick runs` lists them.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write; replaced as a whole.")],
    sign_with: Annotated[
        Path | None,
        typer.Option(
            "--sign-with",
            metavar="KEY",
            help="Ed25519 signing key (PEM); made, mode 0600, where the file does not exist yet. "
            "Default: LEDGER.key, beside the ledger.",
        ),
    ] = None,
    unsigned: Annotated[bool, typer.Option("--unsigned", help="Do not sign it.")] = False,
    json: Json = False,
) -> None:
    """Write a run to a file: its exact events, one a line, ending in a signed head.

    Give whoever verifies it the public key (KEY.pub) by another way than the file.
    """
    if unsigned and sign_with:
        raise InputError("`--unsigned` and `--sign-with` contradict each other", fix="give one of them")
    with reading(ledger) as store:
        choose(store, run, ledger)
        key_file = sign_with or ledger.with_name(ledger.name + ".key")
        key = None if unsigned else signing_key(key_file)
        end = write_export(store, run, out, key, now=datetime.now(UTC))
    public = None if unsigned else str(key_file) + ".pub"
    if json:
        console.emit(
            {
                "run": run,
                "file": str(out),
                "events": end.seq,
                "head": end.head,
                "at": end.at,
                "key": end.key,
                "public_key_file": public,
            }
        )
        return
    console.say(
        f"{out}: run {run}, {console.counted(end.seq, 'event')}, {'unsigned' if unsigned else f'signed by {end.key}'}"
    )
    if public:
        console.say(f"verify it with: tallystick verify {out} --key {public}")


def verify(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="An export, a certificate, or a ledger to check where it lies.")
    ],
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="FILE", help="The signer's public key, from a source you trust."),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option("--ledger", metavar="EXPORT", help="For a certificate: the export of its run."),
    ] = None,
    json: Json = False,
) -> int:
    """Check an export, byte by byte, by code that shares nothing with the writer; or a certificate. Exits with 0 or 1.

    Only with --key can the answer be "authentic"; without it a good file is "intact, unauthenticated". Of a ledger, the
    file itself is checked too (SQLite's `integrity_check`): also pages that no event is read from. A certificate is
    checked against the export of its run: signature, chain and record, and then the stop is judged and the certificate
    verified again, all six checks under the run's own contract.
    """
    if is_sqlite(file):
        if key is not None or ledger is not None:
            raise InputError("a ledger carries no signature", where=str(file), fix="export the run, and verify that")
        results = fsck(file)
        if json:
            console.emit({"file": str(file), "ok": all(r.ok for r in results), "runs": [_to_json(r) for r in results]})
    elif ledger is not None or _is_certificate(file):
        return _verify_certificate(file, ledger, key, json=json)
    else:
        results = (verify_export(file, None if key is None else load_public_key(key)),)
        if json:
            console.emit({"file": str(file), **_to_json(results[0])})
    if not json:
        if not is_sqlite(file) and not results[0].ok and _was_never_an_export(file):
            console.say(f"does not verify: {file} is no export of a run, and no ledger", style="bold red")
            return 1
        for result in results:
            _print(result)
        if not results:
            console.note("the ledger has no runs")
        if all(r.ok and r.authentic != "authentic" for r in results):
            console.note(_UNAUTHENTICATED)
    return 0 if all(r.ok for r in results) else 1


def _verify_certificate(file: Path, export: Path | None, key: Path | None, *, json: bool) -> int:
    if export is None:
        raise InputError(
            "a certificate is checked against the export of its run", where=str(file), fix="`--ledger EXPORT`"
        )
    if is_sqlite(export):
        raise InputError(
            "a ledger carries no signature",
            where=str(export),
            fix="`tallystick export` the run, and give that",
        )
    if _is_export(file):
        raise InputError("an export, and no certificate", where=str(file), fix="the certificate first, then `--ledger`")
    result = check_certificate(file, export, None if key is None else load_public_key(key))
    if json:
        console.emit({"file": str(file), "ledger": str(export), **_certificate_json(result)})
        return 0 if result.ok else 1
    found = result.certificate
    said = result.authentic if result.ok else "does not verify"
    style = "green" if result.ok else "bold red"
    if found is None:
        console.say(f"{said}: {file}", style=style)
    else:
        claims = console.counted(len(found.claims), "claim")
        console.say(f"{said}: run {found.run} up to event {found.upto}, {found.outcome}, {claims}", style=style)
    for fault in result.problems:
        console.say(f"  {fault}")
    if result.ok and result.authentic != "authentic":
        console.note(_UNAUTHENTICATED)
    return 0 if result.ok else 1


def _certificate_json(result: Checked) -> dict[str, Any]:
    found = result.certificate
    return {
        "ok": result.ok,
        "authentic": result.authentic,
        "problems": msgspec.to_builtins(result.problems),
        "passed": list(result.passed),
        "certificate": None if found is None else msgspec.to_builtins(found),
        "events_after_the_end": result.later,
    }


def _is_certificate(file: Path) -> bool:
    with file.open("rb") as stream:
        return looks_like_envelope(stream.read(_HEADER_BYTES))


def _is_export(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.readline(_HEADER_BYTES).startswith(b'{"format":"tallystick-export/')


def _was_never_an_export(file: Path) -> bool:
    """Return whether nothing of an export's header is in the first line, so that its flaws need not be listed."""
    with file.open("rb") as stream:
        head = stream.readline(_HEADER_BYTES)
    return b'"format"' not in head and b"tallystick" not in head and b'"v":' not in head


def _to_json(result: Verification) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(result)
    return found


def _print(result: Verification) -> None:
    style = "green" if result.ok else "bold red"
    said = result.authentic if result.ok else "does not verify"
    if any(flaw.code == "file.damaged" for flaw in result.problems):
        console.say(f"{said}: the file is damaged", style=style)
    else:
        events = console.counted(result.events, "event")
        console.say(f"{said}: run {result.run or '?'}, {events}, head {result.head[:16]}", style=style)
    for flaw in result.problems:
        console.say(f"  {flaw}")
