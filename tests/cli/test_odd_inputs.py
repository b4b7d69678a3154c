"""Odd bytes given to every command that reads a file: one clear line, no traceback, nothing half written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

DEEP = b'{"messages": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"


def chat(result: bytes) -> bytes:
    """A conversation with one call whose result is the JSON string `result`."""
    return (
        b'{"messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": null, "tool_calls": '
        b'[{"id": "c", "type": "function", "function": {"name": "get_x", "arguments": "{}"}}]}, '
        b'{"role": "tool", "tool_call_id": "c", "content": ' + result + b'}, {"role": "assistant", "content": "ok"}]}'
    )


UNUSABLE = {
    "empty": b"",
    "no JSON": b"hello",
    "truncated": b'{"messages": [{"role": "user"',
    "wrong encoding": b'{"messages": [{"role": "user", "content": "caf\xe9"}]}',
    "UTF-16": '{"messages": []}'.encode("utf-16"),
    "nesting 10,000 deep": DEEP,
    "NaN": b'{"messages": [{"role": "user", "content": NaN}]}',
    "duplicate key": b'{"messages": [], "messages": []}',
    "lone surrogate": b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
    "nothing but a number": b"9223372036854775808",
}


@pytest.mark.parametrize("content", UNUSABLE.values(), ids=UNUSABLE.keys())
@pytest.mark.parametrize("command", ["audit", "check", "recheck", "runs --ledger", "show", "settle", "approve"])
def test_a_file_that_cannot_be_used_is_one_line_and_exit_2(
    cli: Cli, tmp_path: Path, command: str, content: bytes
) -> None:
    """Whatever the bytes, the command says what is wrong with which file, and leaves the folder as it was."""
    file = tmp_path / "odd.json"
    file.write_bytes(content)
    done = cli(*command.split(), file)
    assert done.code == 2, done
    assert re.match(r"error: [^\n]*odd\.json", done.err)
    assert "Traceback" not in done.err + done.out
    assert list(tmp_path.iterdir()) == [file]
    assert file.read_bytes() == content


@pytest.mark.parametrize("content", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_verify_says_of_any_bytes_that_they_do_not_verify(cli: Cli, tmp_path: Path, content: bytes) -> None:
    """What is wrong in a file is an answer, not an error: exit 1."""
    file = tmp_path / "odd.jsonl"
    file.write_bytes(content)
    done = cli("verify", file, "--json")
    assert (done.code, done.json["ok"], done.json["authentic"]) == (1, False, "not authentic")


USABLE = {
    "2^63": json.dumps('{"n": 9223372036854775808}').encode(),
    "result that nests too deep": json.dumps("[" * 10_000 + "]" * 10_000).encode(),
    "NaN in a result": json.dumps('{"n": NaN}').encode(),
    "duplicate keys in a result": json.dumps('{"n": 1, "n": 2}').encode(),
    "escapes in a result": json.dumps("\x1b[31m\u202e").encode(),
}


@pytest.mark.parametrize("result", USABLE.values(), ids=USABLE.keys())
def test_an_odd_result_inside_a_sound_file_is_audited(cli: Cli, tmp_path: Path, result: bytes) -> None:
    """A tool may answer anything; the trace around it is still read."""
    file = tmp_path / "trace.json"
    file.write_bytes(chat(result))
    done = cli("audit", file, "--json")
    assert done.code in {0, 1}, done
    assert done.json["summary"]["calls"] == done.json["summary"]["paired"] == 1


def test_a_result_of_50_mb_is_one_clear_error(cli: Cli, tmp_path: Path) -> None:
    """A document beyond the limit is refused before it is read into values, with what would help."""
    file = tmp_path / "large.json"
    file.write_bytes(chat(b'"' + b"x" * 50_000_000 + b'"'))
    done = cli("audit", file, "--json")
    assert done.code == 2
    assert re.fullmatch(r"error: [^\n]*large\.json: a document of more than [^\n]+ \(fix: [^\n]+\)\n", done.err)
    assert done.json["summary"]["bad_files"] == 1


def test_a_truncated_line_costs_only_itself(cli: Cli, tmp_path: Path) -> None:
    """The sound conversations of a JSON Lines file are audited, and the damage is recorded."""
    file = tmp_path / "log.jsonl"
    sound = chat(b'"{}"')
    file.write_bytes(sound + b"\n" + sound[:100] + b"\n" + sound.replace(b'"go"', b'"again"') + b"\n")
    done = cli("audit", file, "--json")
    assert done.code in {1, 2}, done
    assert "Traceback" not in done.err
    assert done.json["summary"]["traces"] >= 2
