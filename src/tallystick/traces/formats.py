"""From bytes to traces: which format a file is in, one document or one record a line, what the traces are called."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.errors import InputError
from tallystick.model.trace import Trace, TraceDamage
from tallystick.traces import foreign, openai_chat, state_bench
from tallystick.traces.chunks import is_chunk
from tallystick.traces.exact import MAX_DOCUMENT, loads
from tallystick.traces.histories import History, merged
from tallystick.traces.lines import values

_ENCODER: Final = msgspec.json.Encoder(order="sorted")
AUTO: Final = "auto"
FORMATS: Final = (state_bench.FORMAT, openai_chat.FORMAT)
"""Formats that can be read; `auto` tells them apart."""


class NotATrace(InputError):  # noqa: N818 - says what the file is, as FileNotFoundError does
    """The bytes are sound JSON, but no conversation in a known format."""


def format_of(value: Any) -> str | None:
    """Return the format of one JSON document, or None."""
    if state_bench.is_state_bench(value):
        return state_bench.FORMAT
    if openai_chat.is_record(value) or openai_chat.is_message(value) or is_chunk(value):
        return openai_chat.FORMAT
    if isinstance(value, list) and value and isinstance(value[0], (dict, list)):
        return format_of(value[0])  # a list of records
    return None


def _refuse_foreign(value: Any, source: str, where: str = "") -> None:
    """Raise for a JSON value in a format that is known not to be read."""
    other = foreign.name_of(value)
    if other:
        raise foreign.refused(other, where, source)


def detect(data: bytes | str | Path) -> str:
    """Return the format of a file (or of its bytes): one of `FORMATS`.

    Raises:
        InputError: unreadable, not JSON, or in no known format.
    """
    where = None if isinstance(data, bytes) else str(data)
    try:
        raw = data if isinstance(data, bytes) else Path(data).read_bytes()
    except OSError as bad:
        raise InputError(f"cannot be read: {(bad.strerror or str(bad)).lower()}", where=where) from None
    for value in _first(raw, where):
        known = format_of(value)
        if known is not None:
            return known
    raise NotATrace("not a conversation in a known format", where=where, fix=f"one of: {', '.join(FORMATS)}")


def _first(raw: bytes, where: str | None) -> Iterator[Any]:
    head, newline, rest = raw.partition(b"\n")
    if newline and rest.strip():
        for _, found, _ in values([head]):
            yield from found
    yield loads(raw, where=where)


def parse(
    data: bytes,
    *,
    name: str,
    source: str = "",
    format: str = AUTO,  # noqa: A002 - the option's name
    now: str | None = None,
) -> Iterator[Trace]:
    """Yield the traces in the bytes of one file.

    Args:
        data: the file's bytes.
        name: the traces' id; where a file holds several, `name#line` (or `name#item`) of the first appearance.
        source: where the bytes came from, for messages.
        format: one of `FORMATS`, or `auto`.
        now: the instant the run took place at, where the caller knows it.

    Raises:
        InputError: the bytes cannot be used; `NotATrace` where they are sound JSON of another kind.
    """
    where = source or None
    if not data.strip():
        raise InputError("the file is empty", where=where)
    if b"\0" in data[:4096]:
        raise InputError("binary or UTF-16, not JSON in UTF-8", where=where, fix="save the file as UTF-8")
    head, newline, rest = data.partition(b"\n")
    if newline and rest.strip() and _is_whole(head):
        yield from parse_lines(data.splitlines(), name=name, source=source, format=format, now=now)
        return
    try:
        value = loads(data, where=where)
    except InputError:
        # Perhaps JSON Lines whose first line is torn: worth it only where some line is a record.
        if newline and any(found for _, found, _ in values(data.splitlines()[1:])):
            yield from parse_lines(data.splitlines(), name=name, source=source, format=format, now=now)
            return
        raise
    yield from _document(value, hashlib.sha256(data).hexdigest(), name, source, format, now)


def _is_whole(line: bytes) -> bool:
    """Return whether a first line is a JSON value of its own, so that the file is JSON Lines."""
    if line[-1:] not in b"}]\r" or len(line) > MAX_DOCUMENT:
        return False
    try:
        loads(line)
    except InputError:
        return False
    return True


def _document(value: Any, sha: str, name: str, source: str, wanted: str, now: str | None) -> Iterator[Trace]:
    found = format_of(value)
    if found is None or (isinstance(value, dict) and not state_bench.is_state_bench(value)):
        _refuse_foreign(value, source)
    known = _checked(found, wanted, source)
    if known == state_bench.FORMAT and isinstance(value, dict):
        yield state_bench.trace_of(value, name=name, source=source, sha256=sha, now=now)
    elif openai_chat.is_record(value) or openai_chat.is_message(value):
        messages, damage = openai_chat.messages_of([value] if openai_chat.is_message(value) else value)
        yield openai_chat.trace_of(messages, name=name, source=source, sha256=sha, damage=damage, now=now)
    else:
        items = [value] if isinstance(value, dict) else value
        records: Iterator[_Record] = ((n, [item], []) for n, item in enumerate(items, 1))
        yield from _records(records, name, source, known, now, sha)


def _checked(found: str | None, wanted: str, source: str) -> str:
    if wanted != AUTO and wanted not in FORMATS:
        raise InputError(f"unknown format `{wanted}`", fix=f"one of: {AUTO}, {', '.join(FORMATS)}")
    if found is None or wanted not in (AUTO, found):
        kind = "a conversation in a known format" if wanted == AUTO else f"in the format `{wanted}`"
        hint = f"one of: {', '.join(FORMATS)}" if found is None else f"it looks like `{found}`"
        raise NotATrace(f"not {kind}", where=source or None, fix=hint)
    return found


_Record = tuple[int, list[Any], list[TraceDamage]]


def parse_lines(
    lines: Iterable[bytes],
    *,
    name: str,
    source: str = "",
    format: str = AUTO,  # noqa: A002 - the option's name
    now: str | None = None,
) -> Iterator[Trace]:
    """Yield the traces of JSON Lines, one line in memory at a time; see `parse`."""
    records = values(lines)
    leading: list[_Record] = []
    for record in records:
        leading.append(record)
        if record[1]:
            break
    if not leading or not leading[-1][1]:
        raise InputError("no line holds a JSON value", where=source or None)
    first = leading[-1][1][0]
    found = format_of(first)
    if found is None:
        _refuse_foreign(first, source, f"line {leading[-1][0]}")
    known = _checked(found, format, source)
    yield from _records(chain(leading, records), name, source, known, now, None)


def _records(
    records: Iterator[_Record], name: str, source: str, known: str, now: str | None, sha: str | None
) -> Iterator[Trace]:
    """Yield the traces of many records: conversations, requests that resend history, or the messages of one."""
    first = next(records)
    value = first[1][0] if first[1] else None
    everything = chain([first], records)
    if known == state_bench.FORMAT:
        yield from _state_bench_records(everything, name, source, now)
    elif openai_chat.is_message(value) or is_chunk(value):
        yield _one_conversation(everything, name, source, now, sha)
    else:
        for history in merged(_histories(everything, source)):
            yield _traced(history.messages, history.damage, f"{name}#{history.at}", source, now)


def _state_bench_records(records: Iterator[_Record], name: str, source: str, now: str | None) -> Iterator[Trace]:
    for number, found, met in records:
        damage = list(met)
        for value in found:
            if state_bench.is_state_bench(value):
                sha = _sha(value)
                trace = state_bench.trace_of(value, name=f"{name}#{number}", source=source, sha256=sha, now=now)
                yield _with(trace, damage) if damage else trace
            else:
                damage.append(_stray(number, value, source))
        if damage and not any(map(state_bench.is_state_bench, found)):
            yield _damaged(damage, f"{name}#{number}", source, state_bench.FORMAT)


def _histories(records: Iterator[_Record], source: str) -> Iterator[History]:
    for number, found, met in records:
        usable = [v for v in found if openai_chat.is_record(v)]
        damage = [*met, *(_stray(number, v, source) for v in found if not openai_chat.is_record(v))]
        for value in usable:
            _refuse_foreign(value, source, f"line {number}")
        if not usable:
            yield History(number, [], damage)
        for at, value in enumerate(usable):
            messages, lost = openai_chat.messages_of(value)
            yield History(number, messages, [*damage, *lost] if at == 0 else lost)


def _one_conversation(records: Iterator[_Record], name: str, source: str, now: str | None, sha: str | None) -> Trace:
    messages: list[Any] = []
    chunks: list[Any] = []
    lost: list[TraceDamage] = []
    for number, found, damage in records:
        lost.extend(damage)
        for value in found:
            if chunks and (not is_chunk(value) or value.get("id") != chunks[-1].get("id")):
                messages.extend(openai_chat.messages_of(chunks)[0])
                chunks = []
            if is_chunk(value):
                chunks.append(value)
            elif openai_chat.is_message(value):
                messages.append(value)
            else:
                lost.append(_stray(number, value, source))
    if chunks:
        messages.extend(openai_chat.messages_of(chunks)[0])
    return _traced(messages, lost, name, source, now, sha)


def _traced(
    messages: list[Any], damage: list[TraceDamage], name: str, source: str, now: str | None, sha: str | None = None
) -> Trace:
    digest = sha or _sha(messages)
    return openai_chat.trace_of(messages, name=name, source=source, sha256=digest, damage=damage, now=now)


def _sha(value: Any) -> str:
    """Return the SHA-256 of a record's content, so that the same record in another file has the same digest."""
    return hashlib.sha256(_ENCODER.encode(value)).hexdigest()


def _stray(number: int, value: Any, source: str) -> TraceDamage:
    _refuse_foreign(value, source, f"line {number}")
    return TraceDamage(code="line.stray", message="not part of a conversation", where=f"line {number}")


def _damaged(damage: list[TraceDamage], name: str, source: str, known: str) -> Trace:
    return Trace(id=name, source=source, format=known, messages=(), damage=tuple(damage))


def _with(trace: Trace, damage: list[TraceDamage]) -> Trace:
    return Trace(
        id=trace.id,
        source=trace.source,
        format=trace.format,
        messages=trace.messages,
        damage=(*trace.damage, *damage),
        orphans=trace.orphans,
        now=trace.now,
        sha256=trace.sha256,
        meta=trace.meta,
    )
