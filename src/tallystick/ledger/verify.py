"""Checking an export by code that shares nothing with the writer.

This module imports nothing of tallystick but the errors (import-linter keeps it so): JSON by the standard library,
canonical form by `rfc8785`, SHA-256 by `hashlib`, Ed25519 by `cryptography`. Everything is derived again from the raw
bytes, line by line; memory is bounded by the longest line.

What it can say. *Without a pinned key*: the file is consistent in itself, "intact, unauthenticated". Whoever can
rewrite the whole file can also compute every digest again and sign with a key of their own, so this shows damage and
careless edits, not forgery. *With a pinned public key*: "authentic" means the holder of that key signed exactly these
events. Neither shows that the file is the newest: an older export is as authentic as it ever was, so whoever must know
compares `events` and `head` with a checkpoint kept elsewhere.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tallystick.errors import InputError

FORMAT: Final = "tallystick-export/1"
ENVELOPE_VERSION: Final = 1
GENESIS: Final = "0" * 64
DOMAIN: Final = b"tallystick/checkpoint/1\n"
MAX_LINE_BYTES: Final = 256 * 1024 * 1024
MAX_STRUCTURE: Final = 1_000_000
"""Most strings of a line, and bytes outside them. Foreign content stands in strings, so an event has far fewer; a line
of millions of empty lists would take a hundred times its size in memory."""
MAX_PROBLEMS: Final = 50
"""Checking stops here: a file with so many is not worth more."""

Authentic = Literal["authentic", "intact, unauthenticated", "not authentic"]
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)', re.DOTALL)
_HEX64: Final = re.compile("[0-9a-f]{64}")
_HEX128: Final = re.compile("[0-9a-f]{128}")
_ENVELOPE: Final = frozenset({"v", "run", "seq", "at", "actor", "body", "prev"})
_BLOB: Final = frozenset({"sha256", "size", "text", "base64", "redacted"})
_CHECKPOINT: Final = frozenset({"at", "head", "key", "run", "seq", "sha256", "signature"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Flaw:
    """One thing that is wrong.

    Attributes:
        line: 1-based line of the file; 0 where it is the file as a whole, or a ledger without lines.
        event: seq of the event the line should hold, or `None`.
        code: stable dotted code such as `chain.prev`.
    """

    line: int
    event: int | None
    code: str
    message: str

    def __str__(self) -> str:
        place = [f"line {self.line}"] if self.line else []
        place += [f"event {self.event}"] if self.event is not None else []
        return f"{', '.join(place) or 'file'}: {self.message} [{self.code}]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Verification:
    """The result.

    Attributes:
        ok: nothing is wrong and, where a key was pinned, that key signed it.
        authentic: "authentic" only under a pinned key; see the module's text for what each means.
        problems: what is wrong, in file order.
        run: run id the header states, or `None`.
        events: how many events were read.
        head: digest of the last event read; 64 zeros for none.
    """

    ok: bool
    authentic: Authentic
    problems: tuple[Flaw, ...]
    run: str | None
    events: int
    head: str


class Unreadable(Exception):  # noqa: N818 - carries a code to where the line is known
    """A line that is not the canonical JSON of one object."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def verify(path: str | os.PathLike[str], key: bytes | None = None) -> Verification:
    """Check the export at `path`; with `key` (a raw Ed25519 public key), also that its holder signed it.

    Raises:
        InputError: the file cannot be read. (What is wrong *in* it is a value, not an error.)
    """
    try:
        return _Export(key).check(Path(path))
    except OSError as bad:
        raise InputError(f"cannot be read: {bad.strerror}", where=str(path)) from None


def read_object(raw: bytes) -> dict[str, Any]:
    """Return the object whose RFC 8785 bytes are exactly `raw`.

    Raises:
        Unreadable: any other bytes.
    """
    if len(raw) > MAX_STRUCTURE and _has_too_many_values(raw):
        raise Unreadable("json.invalid", "far more values than an event has")
    try:
        value = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_float=_no_number,
            parse_constant=_no_number,
        )
        again = rfc8785.dumps(value)
    except UnicodeDecodeError as bad:
        raise Unreadable("json.encoding", f"not UTF-8 at byte {bad.start}") from None
    except (ValueError, RecursionError) as bad:
        raise Unreadable("json.invalid", f"not JSON of this format: {bad}") from None
    if again != raw:
        at = next((i for i, (a, b) in enumerate(zip(again, raw, strict=False)) if a != b), min(len(again), len(raw)))
        raise Unreadable("json.not_canonical", f"not in canonical form (RFC 8785) at byte {at}")
    if not isinstance(value, dict):
        raise Unreadable("json.invalid", "not an object")
    return value


class Chain:
    """The chain of one run, checked event by event. Problems are collected in `flaws`."""

    def __init__(self, run: str | None) -> None:
        self.run = run
        self.events = 0
        self.head = GENESIS
        self.flaws: list[Flaw] = []
        self._next = 1

    def flaw(self, line: int, code: str, message: str, *, event: int | None = None) -> None:
        """Record a problem."""
        self.flaws.append(Flaw(line=line, event=event, code=code, message=message))

    def feed(self, raw: bytes, line: int) -> dict[str, Any] | None:
        """Check the next event's bytes; return the envelope, or `None` where it is none."""
        expected = self._next
        found: dict[str, Any] | None = None
        try:
            found = read_object(raw)
            for code, message in self._wrong(found, expected):
                self.flaw(line, code, message, event=expected)
        except Unreadable as bad:
            self.flaw(line, bad.code, bad.message, event=expected)
        except RecursionError:
            self.flaw(line, "json.invalid", "nested too deep", event=expected)
        # Go on from what is there, so that one bad event is reported once and not at every later line.
        seq = found.get("seq") if found is not None else None
        self._next = seq + 1 if type(seq) is int and seq > 0 else expected + 1
        self.head = hashlib.sha256(raw).hexdigest()
        self.events += 1
        return found

    def result(self, *, signed: bool = False) -> Verification:
        """Return what was found; `signed` says that the pinned key's signature fits."""
        flaws = tuple(sorted(self.flaws[:MAX_PROBLEMS], key=lambda f: f.line))
        authentic: Authentic = "not authentic"
        if not flaws:
            authentic = "authentic" if signed else "intact, unauthenticated"
        return Verification(
            ok=not flaws, authentic=authentic, problems=flaws, run=self.run, events=self.events, head=self.head
        )

    def _wrong(self, event: dict[str, Any], expected: int) -> Iterator[tuple[str, str]]:
        if event.keys() != _ENVELOPE:
            yield "event.shape", f"an event has the fields {', '.join(sorted(_ENVELOPE))}"
            return
        if not _is(event["v"], ENVELOPE_VERSION):
            yield "event.version", f"envelope version {_short(event['v'])}, this verifier knows {ENVELOPE_VERSION}"
            return
        if event["run"] != self.run:
            yield "event.run", f"belongs to run {_short(event['run'])}, not to {_short(self.run)}"
        if not _is(event["seq"], expected):
            yield "chain.seq", f"has number {_short(event['seq'])}; one is missing, repeated, inserted or out of order"
        if event["prev"] != self.head:
            yield "chain.prev", "does not continue the event before it, or that event was changed"
        actor, body = event["actor"], event["body"]
        if not (isinstance(actor, dict) and actor.keys() == {"id", "role"} and _texts(actor.values())):
            yield "event.shape", "`actor` is not a role and an id"
        if not isinstance(event["at"], str):
            yield "event.shape", "`at` is not a text"
        if not isinstance(body, dict) or not isinstance(body.get("kind"), str):
            yield "event.shape", "`body` is not an object with a kind"
            return
        if (body["kind"] == "run.started") != (self.events == 0):
            yield "chain.start", "the first event, and no other, is `run.started`"
        yield from _texts_match(body)
        yield from _blobs_match(body)


def _texts_match(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Texts of contract, task and certificate, stored beside their SHA-256; both empty where there is none."""
    for name in ("contract", "task", "statement"):
        text, stated = body.get(name), body.get(name + "_sha256")
        if stated is None or (text == "" and stated == ""):
            continue
        if not isinstance(text, str) or stated != hashlib.sha256(text.encode("utf-8")).hexdigest():
            yield "text.sha256", f"the {name}'s text does not match its SHA-256"


def _blobs_match(value: Any) -> Iterator[tuple[str, str]]:
    """Foreign bytes anywhere in a body: their SHA-256 and size, and one form of writing them."""
    if isinstance(value, list):
        for item in value:
            yield from _blobs_match(item)
    elif isinstance(value, dict):
        if "sha256" in value:
            yield from _blob_matches(value)
        else:
            for item in value.values():
                yield from _blobs_match(item)


def _blob_matches(blob: dict[str, Any]) -> Iterator[tuple[str, str]]:
    text, encoded = blob.get("text"), blob.get("base64")
    if blob.keys() != _BLOB or (text is None) == (encoded is None):
        yield "blob.shape", "foreign bytes are written as `text` or as `base64`, with size, SHA-256 and redactions"
        return
    try:
        raw = text.encode("utf-8") if text is not None else base64.b64decode(encoded or "", validate=True)
        again = raw.decode("utf-8") if text is not None else base64.b64encode(raw).decode("ascii")
    except (AttributeError, TypeError, ValueError, binascii.Error):
        yield "blob.shape", "foreign bytes cannot be read"
        return
    if again != (text if text is not None else encoded):
        yield "blob.shape", "foreign bytes are not in the one form that base64 allows"
    if not _is(blob["size"], len(raw)):
        yield "blob.size", f"foreign bytes have size {len(raw)}, not {_short(blob['size'])}"
    if blob["sha256"] != hashlib.sha256(raw).hexdigest():
        yield "blob.sha256", "foreign bytes do not match their SHA-256"
    if not isinstance(blob["redacted"], list) or not _texts(blob["redacted"]):
        yield "blob.shape", "`redacted` is not a list of JSON Pointers"


class _Export:
    """One pass over an export: header, events, checkpoint."""

    def __init__(self, key: bytes | None) -> None:
        self._key = key
        self._chain = Chain(None)
        self._signed_by_key = False

    def check(self, path: Path) -> Verification:
        held: tuple[int, bytes] | None = None  # the last line is the checkpoint, so each line waits for the next
        number = 0
        for number, raw in self._lines(path):
            if number == 1:
                self._header(raw)
            elif held is not None:
                self._event(*held)
            if number > 1:
                held = (number, raw)
            if len(self._chain.flaws) >= MAX_PROBLEMS:
                break
        if number == 0 and not self._chain.flaws:
            self._chain.flaw(0, "file.empty", "the file is empty")
        elif held is None:
            text = "there is no line after the first; the tail is cut off"
            self._chain.flaw(max(number, 1), "checkpoint.missing", text)
        else:
            self._checkpoint(*held)
        return self._chain.result(signed=self._signed_by_key)

    def _lines(self, path: Path) -> Iterator[tuple[int, bytes]]:
        with path.open("rb") as stream:
            number = 0
            while raw := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                if not raw.endswith(b"\n"):
                    if len(raw) > MAX_LINE_BYTES:
                        self._chain.flaw(number, "line.too_long", f"a line of more than {MAX_LINE_BYTES:,} bytes")
                        return
                    self._chain.flaw(number, "line.unfinished", "the last line has no end; the tail is cut off")
                    yield number, raw
                    return
                yield number, raw[:-1]

    def _header(self, raw: bytes) -> None:
        try:
            header = read_object(raw)
        except Unreadable as bad:
            self._chain.flaw(1, bad.code, f"the header is {bad.message}")
            return
        run = header.get("run")
        if header.keys() != {"format", "run"} or header["format"] != FORMAT or not isinstance(run, str):
            self._chain.flaw(1, "header.invalid", f"not the header of a `{FORMAT}` file")
            return
        self._chain.run = run

    def _event(self, line: int, raw: bytes) -> None:
        if raw.startswith(b'{"checkpoint":'):
            self._chain.flaw(line, "file.trailing", "something follows the checkpoint")
            return
        self._chain.feed(raw, line)

    def _checkpoint(self, line: int, raw: bytes) -> None:
        chain = self._chain
        try:
            found = read_object(raw)
        except Unreadable as bad:
            chain.flaw(line, bad.code, f"the last line is {bad.message}")
            return
        body = found.get("checkpoint")
        if found.keys() != {"checkpoint"} or not isinstance(body, dict) or body.keys() != _CHECKPOINT:
            chain.flaw(line, "checkpoint.missing", "the last line is no checkpoint; the tail is cut off")
            return
        if body["run"] != chain.run:
            chain.flaw(line, "checkpoint.run", f"the checkpoint is of run {_short(body['run'])}")
        if not _is(body["seq"], chain.events) or chain.events == 0:
            chain.flaw(line, "checkpoint.seq", f"{chain.events} events, but the checkpoint is of {_short(body['seq'])}")
        if body["head"] != chain.head:
            chain.flaw(line, "checkpoint.head", "the checkpoint is of another last event")
        if not isinstance(body["at"], str):
            chain.flaw(line, "checkpoint.invalid", "`at` is not a text")
        statement = {name: body[name] for name in ("at", "head", "key", "run", "seq")}
        signed = DOMAIN + rfc8785.dumps(statement)
        if body["sha256"] != hashlib.sha256(signed).hexdigest():
            chain.flaw(line, "checkpoint.sha256", "the checkpoint does not match its own SHA-256")
        self._signature(line, body["key"], body["signature"], signed)

    def _signature(self, line: int, key: Any, signature: Any, signed: bytes) -> None:
        chain = self._chain
        if key is None and signature is None:
            if self._key is not None:
                chain.flaw(line, "signature.missing", "nobody signed this export")
            return
        if not (_matches(_HEX64, key) and _matches(_HEX128, signature)):
            chain.flaw(line, "signature.invalid", "not a signature: key and signature are lower-case hexadecimal")
            return
        try:
            Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(bytes.fromhex(signature), signed)
        except (InvalidSignature, ValueError):
            chain.flaw(line, "signature.invalid", "the signature does not fit the checkpoint")
            return
        if self._key is not None:
            # The file's word for its key is not used: the pinned key must fit.
            if bytes.fromhex(key) != self._key:
                chain.flaw(line, "signature.other_key", f"signed by another key, {key[:16]}…")
                return
            self._signed_by_key = True


def _has_too_many_values(raw: bytes) -> bool:
    outside = done = 0
    for found in _STRING.finditer(raw):
        outside += found.start() - done + 1
        done = found.end()
        if outside > MAX_STRUCTURE:
            return True
    return outside + len(raw) - done > MAX_STRUCTURE


def _is(value: Any, number: int) -> bool:
    return type(value) is int and value == number  # `true` is no 1


def _short(value: Any) -> str:
    return f"`{json.dumps(value)[:60]}`"


def _texts(values: Any) -> bool:
    return all(isinstance(value, str) for value in values)


def _matches(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"the number `{text[:40]}`; events hold whole numbers only")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key appears twice in one object")
    return found
