"""`tallystick certificate`: the signed certificate of a run that ended CERTIFIED."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tallystick.certificates.envelope import key_id, sign
from tallystick.certificates.record import recorded
from tallystick.cli import console
from tallystick.cli.console import Json
from tallystick.cli.sources import choose, ledger_and_run, reading
from tallystick.ledger.keys import load_signing_key, public_bytes
from tallystick.ledger.whole import whole


def certificate(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN|LEDGER",
            help="Run id in --ledger; `tallystick runs` lists them. Without --ledger, the ledger file.",
        ),
    ],
    key: Annotated[
        Path,
        typer.Option(
            "--key",
            metavar="KEY",
            help="Ed25519 signing key (PEM), the one the run's export is signed with; `tallystick keygen` makes one.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write; replaced as a whole.")],
    second: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Run id, where the ledger came first and has several runs.")
    ] = None,
    ledger: Annotated[Path | None, typer.Option("--ledger", metavar="FILE", help="The ledger file.")] = None,
    json: Json = False,
) -> None:
    """Write the certificate of a run that ended CERTIFIED: an in-toto Statement in a signed DSSE envelope.

    It is verified again first, all six checks under the run's own contract; nothing is signed that does not pass, and
    there is no unsigned certificate. Whoever gets it needs an export of the run signed by the same key, and the public
    key by another way: `tallystick verify CERT --ledger EXPORT --key KEY.pub`.
    """
    file, named = ledger_and_run(run, second, ledger, "certificate")
    signer = load_signing_key(key)
    with reading(file) as store:
        run = choose(store, named, file)
        view, found = recorded(lambda: store.events(run), run)
    raw = sign(view, found, signer)
    with whole(out, "the certificate") as stream:
        stream.write(raw)
    if json:
        console.emit(
            {
                "run": run,
                "file": str(out),
                "outcome": found.outcome,
                "upto": found.upto,
                "head": found.head,
                "claims": len(found.claims),
                "key_id": key_id(public_bytes(signer)),
                "public_key_file": f"{key}.pub",
            }
        )
        return
    claims = console.counted(len(found.claims), "claim")
    console.say(f"{out}: run {run} up to event {found.upto}, {found.outcome}, {claims}")
    console.say(f"export the run with the same key: tallystick export {file} {run} --out EXPORT --sign-with {key}")
    console.say(f"verify it with: tallystick verify {out} --ledger EXPORT --key {key}.pub")
