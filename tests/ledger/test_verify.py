"""The verifier refuses every change of an export, and says where it is."""

from __future__ import annotations

import base64
import json
import random
import tracemalloc
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tallystick.errors import ForgedEventError, InputError
from tallystick.ledger import export as writer
from tallystick.ledger import verify as verifier
from tallystick.ledger.checkpoint import checkpoint
from tallystick.ledger.export import export
from tallystick.ledger.keys import make_signing_key, public_bytes
from tallystick.ledger.memory import MemoryStore
from tallystick.ledger.store import MAX_EVENT_BYTES, Head
from tallystick.ledger.verify import verify
from tallystick.model import events as model
from tallystick.model.canonical import canonical, digest
from tests.ledger.samples import BODIES, NOW, filled

KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
OTHER = Ed25519PrivateKey.from_private_bytes(b"o" * 32)


def exported(folder: Path, key: Ed25519PrivateKey | None, bodies: tuple[model.AnyBody, ...] = BODIES) -> Path:
    store = MemoryStore()
    filled(store, "r", bodies)
    export(store, "r", folder / "run.jsonl", key, now=NOW)
    return folder / "run.jsonl"


@pytest.fixture(params=["signed", "unsigned"])
def good(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return exported(tmp_path, KEY if request.param == "signed" else None)


@pytest.fixture(params=["signed", "unsigned"])
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A start and a receipt whose bytes are not text: for tests that go over every byte."""
    return exported(tmp_path, KEY if request.param == "signed" else None, (BODIES[0], BODIES[3]))


def put(path: Path, raw: bytes) -> None:
    """Overwrite in place: emptying a file first makes some file systems wait for the disk, thousands of times here."""
    with path.open("r+b") as stream:
        stream.write(raw)
        stream.truncate()


def refused(path: Path, raw: bytes, code: str | None = None) -> None:
    put(path, raw)
    for key in (None, public_bytes(KEY)):
        result = verify(path, key)
        assert not result.ok
        assert result.authentic == "not authentic"
        assert result.problems
        if code is not None:
            assert code in {p.code for p in result.problems}, result.problems


def test_verifier_and_writer_agree_on_the_format_without_sharing_it() -> None:
    assert verifier.FORMAT == writer.FORMAT
    assert verifier.GENESIS == model.GENESIS
    assert verifier.ENVELOPE_VERSION == model.ENVELOPE_VERSION
    assert verifier.MAX_LINE_BYTES == MAX_EVENT_BYTES


def test_an_untouched_export_is_intact_and_under_its_key_authentic(tmp_path: Path) -> None:
    path = exported(tmp_path, KEY)
    plain, pinned = verify(path), verify(path, public_bytes(KEY))
    assert (plain.ok, plain.authentic) == (True, "intact, unauthenticated")
    assert (pinned.ok, pinned.authentic) == (True, "authentic")
    assert (pinned.run, pinned.events, pinned.problems) == ("r", 5, ())
    last = path.read_bytes().splitlines()[-2]
    assert pinned.head == digest(last)


def test_another_keys_signature_is_not_authentic(tmp_path: Path) -> None:
    path = exported(tmp_path, OTHER)
    assert verify(path).authentic == "intact, unauthenticated"
    result = verify(path, public_bytes(KEY))
    assert (result.ok, result.authentic) == (False, "not authentic")
    assert [p.code for p in result.problems] == ["signature.other_key"]


def test_no_signature_is_not_authentic_under_a_key(tmp_path: Path) -> None:
    path = exported(tmp_path, None)
    assert verify(path).authentic == "intact, unauthenticated"
    result = verify(path, public_bytes(KEY))
    assert (result.ok, result.authentic) == (False, "not authentic")
    assert [p.code for p in result.problems] == ["signature.missing"]


def test_naming_the_pinned_key_beside_another_keys_signature_is_refused(tmp_path: Path) -> None:
    path = exported(tmp_path, OTHER)
    raw = path.read_bytes().replace(public_bytes(OTHER).hex().encode(), public_bytes(KEY).hex().encode())
    refused(path, raw, "signature.invalid")


def test_every_changed_byte_is_refused(small: Path) -> None:
    raw = small.read_bytes()
    draw = random.Random(20260311)
    for at in range(len(raw)):
        others = [b for b in range(256) if b != raw[at]]
        for new in {raw[at] ^ 1, raw[at] ^ 0x20, *draw.sample(others, 2)}:
            changed = raw[:at] + bytes([new]) + raw[at + 1 :]
            put(small, changed)
            result = verify(small)
            assert not result.ok, (at, raw[at], new)
            assert result.authentic == "not authentic"


def test_the_line_of_a_changed_byte_is_named(good: Path) -> None:
    raw = good.read_bytes()
    line = 1
    for at, byte in enumerate(raw):
        if at % 7 == 0 and byte != 0x0A:
            put(good, raw[:at] + b"~" + raw[at + 1 :] if byte != 0x7E else raw[:at] + b"-" + raw[at + 1 :])
            # A change that leaves an event well formed shows where the next line does not continue it.
            assert {p.line for p in verify(good).problems} & {line, line + 1}
        line += byte == 0x0A


def test_every_deleted_and_every_inserted_byte_is_refused(small: Path) -> None:
    raw = small.read_bytes()
    draw = random.Random(7)
    for at in range(len(raw)):
        put(small, raw[:at] + raw[at + 1 :])
        assert not verify(small).ok, at
        put(small, raw[:at] + bytes([draw.randrange(256)]) + raw[at:])
        assert not verify(small).ok, at


def test_every_cut_tail_is_refused(small: Path) -> None:
    raw = small.read_bytes()
    for length in range(len(raw)):
        put(small, raw[:length])
        result = verify(small)
        assert not result.ok, length
        assert result.authentic == "not authentic"


def test_a_tail_cut_before_the_checkpoint_is_refused_even_with_the_checkpoint_kept(good: Path) -> None:
    lines = good.read_bytes().splitlines(keepends=True)
    for keep in range(1, len(lines) - 1):
        refused(good, b"".join([*lines[:keep], lines[-1]]), "checkpoint.head")


def test_every_swap_of_adjacent_lines_is_refused(good: Path) -> None:
    lines = good.read_bytes().splitlines(keepends=True)
    for at in range(len(lines) - 1):
        swapped = [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]]
        refused(good, b"".join(swapped))


def test_every_dropped_doubled_and_inserted_line_is_refused(good: Path) -> None:
    lines = good.read_bytes().splitlines(keepends=True)
    for at in range(len(lines)):
        refused(good, b"".join([*lines[:at], *lines[at + 1 :]]))
        refused(good, b"".join([*lines[: at + 1], *lines[at:]]))
        refused(good, b"".join([*lines[:at], lines[1], *lines[at:]]))


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw + b"\n",
        lambda raw: raw + b" ",
        lambda raw: raw + b"garbage",
        lambda raw: raw + b"\x00",
        lambda raw: raw[:-1],
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: b"\xef\xbb\xbf" + raw,
        lambda raw: raw.decode().encode("utf-16"),
        lambda raw: raw + raw,
        lambda raw: raw.replace(b'"seq":2', b'"seq":2.0'),
        lambda raw: raw.replace(b'"seq":2', b'"seq":1e0'),
        lambda raw: raw.replace(b'"seq":1,', b'"seq":true,'),
        lambda raw: raw.replace(b'{"actor"', b'{ "actor"', 1),
        lambda raw: raw.replace(b'"v":1}', b'"v":1,"v":1}', 1),
        lambda raw: raw.replace(b'"v":1}', b'"v":1,"x":1}', 1),
        lambda raw: raw.replace(b'"v":1}', b'"v":NaN}', 1),
        lambda raw: raw.replace("€".encode(), b"\\u20ac"),
        lambda raw: b"",
        lambda raw: b"\n",
        lambda raw: b"null\n",
        lambda raw: b"[" * 100_000,
        lambda raw: raw.replace(b'{"actor"', b'{"a":' + b"[" * 10_000 + b"]" * 10_000 + b',"actor"', 1),
        lambda raw: raw.replace(b'"v":1}', b'"v":' + b"9" * 5_000 + b"}", 1),
    ],
    ids=range(23),
)  # fmt: skip
def test_damage_of_form_is_refused_without_a_traceback(good: Path, change: Callable[[bytes], bytes]) -> None:
    refused(good, change(good.read_bytes()))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=st.binary(max_size=300))
def test_no_bytes_at_all_give_a_traceback(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "random.jsonl"
    path.write_bytes(raw)
    assert not verify(path).ok


def rewritten(
    path: Path, change: Callable[[list[dict]], object], dumps: Callable[[dict], bytes] = rfc8785.dumps
) -> bytes:
    """Return the export with its events changed and every digest made to fit again, as an attacker would."""
    lines = path.read_bytes().splitlines()
    events = [json.loads(line) for line in lines[1:-1]]
    change(events)
    out, head = [lines[0]], model.GENESIS
    for event in events:
        event["prev"] = head
        raw = dumps(event)
        head = digest(raw)
        out.append(raw)
    out.append(checkpoint("r", Head(seq=len(events), digest=head), NOW, None).line())
    return b"".join(line + b"\n" for line in out)


def test_a_consistent_rewrite_passes_without_a_key_and_fails_with_one(tmp_path: Path) -> None:
    """The limit the documentation states: without a pinned key only damage shows, not forgery."""
    path = exported(tmp_path, KEY)
    forged = rewritten(path, lambda events: events[1]["body"].update(text="pay I-8"))
    put(path, forged)
    assert verify(path).authentic == "intact, unauthenticated"
    assert verify(path, public_bytes(KEY)).authentic == "not authentic"


def _no_start(events: list[dict]) -> None:
    del events[0]
    for event in events:
        event["seq"] -= 1


STRUCTURE = {
    "blob.sha256": lambda e: e[2]["body"]["args"].update(text='{"invoice_id": "I-8"}'),
    "blob.size": lambda e: e[2]["body"]["args"].update(size=19),
    "blob.shape": lambda e: e[3]["body"]["result"].update(base64="/wAgbm90IHRleHR="),
    "text.sha256": lambda e: e[0]["body"].update(contract="contract: other/1\n"),
    "event.run": lambda e: e[2].update(run="s"),
    "chain.seq": lambda e: e[4].update(seq=6),
    "chain.start": _no_start,
    "event.version": lambda e: e[1].update(v=2),
    "event.shape": lambda e: e[1].update(actor="me"),
    "checkpoint.seq": lambda e: e.clear(),
}


@pytest.mark.parametrize("code", STRUCTURE)
def test_what_no_writer_could_have_written_is_refused_even_when_every_digest_fits(good: Path, code: str) -> None:
    refused(good, rewritten(good, STRUCTURE[code]), code)


@pytest.mark.parametrize(
    "dumps",
    [
        lambda e: json.dumps(e, sort_keys=True, separators=(",", ": "), ensure_ascii=False).encode(),
        lambda e: json.dumps(e, sort_keys=True, separators=(",", ":")).encode(),
        lambda e: json.dumps(dict(reversed(e.items())), separators=(",", ":"), ensure_ascii=False).encode(),
        lambda e: rfc8785.dumps(e) + b" ",
    ],
    ids=["spaces", "escapes", "order", "tail"],
)
def test_another_way_of_writing_the_same_events_is_refused_even_when_every_digest_fits(
    good: Path, dumps: Callable[[dict], bytes]
) -> None:
    """One event, one byte form: otherwise two digests would name the same event."""
    refused(good, rewritten(good, lambda e: None, dumps), "json.not_canonical")


@pytest.mark.parametrize("line", [0, -1])
def test_the_first_and_the_last_line_have_one_form_too(good: Path, line: int) -> None:
    lines = good.read_bytes().splitlines()
    lines[line] = lines[line].replace(b'":', b'": ')
    refused(good, b"".join(x + b"\n" for x in lines), "json.not_canonical")


@pytest.mark.parametrize("change", [{"seq": True}, {"v": True}])
def test_true_is_no_number(good: Path, change: dict[str, object]) -> None:
    refused(good, rewritten(good, lambda e: e[0].update(change)))


def test_a_second_start_is_refused(good: Path) -> None:
    def again(events: list[dict]) -> None:
        events.append({**events[0], "seq": 6})

    refused(good, rewritten(good, again), "chain.start")


def test_base64_has_one_form(good: Path) -> None:
    loose = base64.b64encode(b"\xff\x00 not text").decode().rstrip("=")
    assert not loose.endswith("=")
    refused(good, rewritten(good, lambda e: e[3]["body"]["result"].update(base64=loose)), "blob.shape")


def test_late_events_after_the_end_are_accepted(tmp_path: Path) -> None:
    store = MemoryStore()
    late = model.Receipt(id="r2", call="c1", result=None, late=True)
    filled(store, "r", (*BODIES, late, model.Ended(status="CERTIFIED")))
    export(store, "r", tmp_path / "run.jsonl", KEY, now=NOW)
    assert verify(tmp_path / "run.jsonl", public_bytes(KEY)).authentic == "authentic"


def test_a_bad_event_is_named_once_and_the_rest_is_still_checked(good: Path) -> None:
    lines = good.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"I-7", b"I-8")
    put(good, b"".join(lines))
    problems = verify(good).problems
    assert [(p.line, p.event, p.code) for p in problems] == [(4, 3, "chain.prev")]
    assert "line 4, event 3" in str(problems[0])


def test_a_folder_full_of_problems_stays_a_short_list(good: Path) -> None:
    lines = good.read_bytes().splitlines(keepends=True)
    put(good, lines[0] + lines[2] * 2_000)
    assert len(verify(good).problems) == verifier.MAX_PROBLEMS


def test_memory_is_bounded_by_the_longest_line_and_not_by_the_file(tmp_path: Path) -> None:
    store = MemoryStore()
    filled(store, "r", (BODIES[0], *(model.Said(role="tool", text="x" * 5_000) for _ in range(1_500))))
    path = tmp_path / "run.jsonl"
    export(store, "r", path, KEY, now=NOW)
    tracemalloc.start()
    try:
        assert verify(path, public_bytes(KEY)).ok
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 7_000_000
    assert peak < 1_000_000


def test_a_line_of_millions_of_values_is_refused_before_it_takes_its_memory(tmp_path: Path) -> None:
    file = tmp_path / "many"
    header = b'{"format":"tallystick-export/1","run":"r"}\n'
    for line in (b"[" + b"[]," * 3_000_000 + b"[]]", b'{"a":' + b'"x",' * 3_000_000, b'"' + b'\\"' * 3_000_000):
        file.write_bytes(header + line + b"\n")
        tracemalloc.start()
        found = verify(file)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert [flaw.code for flaw in found.problems] == ["json.invalid"]
        assert peak < 8 * len(line)


def test_a_file_that_is_one_endless_line_is_not_called_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier, "MAX_LINE_BYTES", 100)
    file = tmp_path / "endless"
    file.write_bytes(b"0" * 1000)
    assert [flaw.code for flaw in verify(file).problems] == ["line.too_long", "checkpoint.missing"]


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        verify(tmp_path / "nothing.jsonl")


# --- writing


def test_the_lines_of_an_export_are_exactly_the_canonical_bytes(tmp_path: Path) -> None:
    store = MemoryStore()
    _, events = filled(store)
    end = export(store, "r", tmp_path / "a.jsonl", KEY, now=NOW)
    lines = (tmp_path / "a.jsonl").read_bytes().split(b"\n")
    assert lines[0] == canonical({"format": "tallystick-export/1", "run": "r"})
    assert lines[1:-2] == [e.raw for e in events]
    assert lines[-2:] == [end.line(), b""]
    assert (end.seq, end.head) == (5, events[-1].digest)


def test_an_export_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    store = MemoryStore()
    filled(store)
    out = tmp_path / "a.jsonl"
    out.write_text("what was there before")
    damaged = store._runs["r"].events
    damaged[3], damaged[2] = damaged[2], damaged[3]
    with pytest.raises(ForgedEventError):
        export(store, "r", out, None, now=NOW)
    assert out.read_text() == "what was there before"
    assert list(tmp_path.iterdir()) == [out]


def test_exporting_badly_is_one_clear_error(tmp_path: Path) -> None:
    store = MemoryStore()
    filled(store)
    with pytest.raises(InputError, match="no run `x`"):
        export(store, "x", tmp_path / "a", None, now=NOW)
    with pytest.raises(InputError, match="folder"):
        export(store, "r", tmp_path, None, now=NOW)
    with pytest.raises(InputError, match="cannot be written"):
        export(store, "r", tmp_path / "no" / "a", None, now=NOW)
    with pytest.raises(InputError, match="time zone"):
        export(store, "r", tmp_path / "a", None, now=NOW.replace(tzinfo=None))
    (tmp_path / "l.sqlite").write_bytes(b"SQLite format 3\x00...")
    with pytest.raises(InputError, match="would be lost"):
        export(store, "r", tmp_path / "l.sqlite", None, now=NOW)
    assert [p.name for p in tmp_path.iterdir()] == ["l.sqlite"]


def test_nothing_is_written_over_a_private_key(tmp_path: Path) -> None:
    store = MemoryStore()
    filled(store)
    path = tmp_path / "l.db.key"
    key = make_signing_key(path)
    pem = path.read_bytes()
    with pytest.raises(InputError, match="is a private key, and would be lost"):
        export(store, "r", path, key, now=NOW)
    assert path.read_bytes() == pem
    assert [p.name for p in tmp_path.iterdir() if p.name.endswith(".part")] == []
    export(store, "r", tmp_path / "l.db.key.pub", key, now=NOW)  # can be made again from the key


def test_the_same_run_at_the_same_instant_gives_the_same_bytes(tmp_path: Path) -> None:
    store = MemoryStore()
    filled(store)
    for name in "ab":
        export(store, "r", tmp_path / name, KEY, now=NOW)
    export(store, "r", tmp_path / "c", KEY, now=NOW + timedelta(seconds=1))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() != (tmp_path / "c").read_bytes()
