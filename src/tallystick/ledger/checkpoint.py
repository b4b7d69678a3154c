"""Checkpoints: the head of a run's chain, signed or not.

A checkpoint fixes every event up to it, because each event's digest covers the one before. Signing is done once per
checkpoint and never per event.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick.errors import InputError
from tallystick.ledger.keys import public_bytes
from tallystick.ledger.store import Head
from tallystick.model.canonical import canonical, digest

_DOMAIN: Final = b"tallystick/checkpoint/1\n"
"""Precedes what is signed, so that no signature over another kind of statement serves as this one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """A statement: "at `at`, run `run` had `seq` events, and the last had digest `head`".

    Attributes:
        at: RFC 3339 UTC instant it was made.
        key: hex Ed25519 public key of the signer, `None` when unsigned.
        signature: hex signature over `signed_bytes`, `None` when unsigned.
    """

    run: str
    seq: int
    head: str
    at: str
    key: str | None = None
    signature: str | None = None

    def signed_bytes(self) -> bytes:
        """Return the domain line and the canonical statement: what the signature and `sha256` cover."""
        return _DOMAIN + canonical(self._statement())

    def line(self) -> bytes:
        """Return the canonical last line of an export, without its newline.

        `sha256` covers the statement, so that damage to a field nothing else repeats (`at`) shows without a signature.
        """
        body = {**self._statement(), "sha256": digest(self.signed_bytes()), "signature": self.signature}
        return canonical({"checkpoint": body})

    def _statement(self) -> dict[str, Any]:
        return {"at": self.at, "head": self.head, "key": self.key, "run": self.run, "seq": self.seq}


def checkpoint(run: str, head: Head, now: datetime, key: Ed25519PrivateKey | None) -> Checkpoint:
    """Return the checkpoint of `run` at `head`, signed where there is a key.

    Raises:
        InputError: `now` has no time zone.
    """
    if now.tzinfo is None:
        raise InputError("the current time has no time zone", fix="pass an aware datetime, in UTC")
    at = now.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if key is None:
        return Checkpoint(run=run, seq=head.seq, head=head.digest, at=at)
    public = public_bytes(key).hex()
    unsigned = Checkpoint(run=run, seq=head.seq, head=head.digest, at=at, key=public)
    signature = key.sign(unsigned.signed_bytes()).hex()
    return Checkpoint(run=run, seq=head.seq, head=head.digest, at=at, key=public, signature=signature)
