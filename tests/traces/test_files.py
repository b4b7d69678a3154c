"""Files and folders: a fixed order, one clear error each."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tallystick.errors import InputError
from tallystick.traces import exact, files, find, read, read_file
from tests.traces.chat import user

GOOD = json.dumps([user("x")])


def test_a_folder_is_read_in_a_fixed_order(tmp_path: Path) -> None:
    for name in ("b/2.json", "b/1.json", "a.jsonl", "c.txt", "a/z.json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(GOOD)
    assert [str(p.relative_to(tmp_path)) for p in find(tmp_path)] == ["a/z.json", "a.jsonl", "b/1.json", "b/2.json"]


def test_json_that_is_no_conversation_is_passed_over_in_a_folder_and_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(GOOD)
    (tmp_path / "config.json").write_text('{"debug": true}')
    assert len(list(read(tmp_path))) == 1
    with pytest.raises(InputError, match="not a conversation"):
        list(read(tmp_path / "config.json"))


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(GOOD)
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    assert len(list(read(tmp_path))) == 1
    (tmp_path / "self.json").symlink_to(tmp_path / "self.json")
    with pytest.raises(InputError, match=r"self\.json: cannot be read"):
        list(read(tmp_path / "self.json"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (b"\x7fELF\0\0\1", "binary"),
        ('[{"role":"user"}]'.encode("utf-16"), "UTF-16"),
        ('[{"role":"user","content":"\xe9"}]'.encode("latin-1"), "not UTF-8 at byte 27"),
        (b"[" * 10_000 + b"]" * 10_000, "nested deeper"),
        (b'{"conversation": [', "not JSON"),
        (b"plain words", "not JSON"),
    ],
)
def test_bytes_that_cannot_be_used_are_one_clear_error(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=says) as met:
        list(read_file(path))
    assert str(path) in str(met.value)
    assert "\n" not in str(met.value)


def test_nothing_there_and_nothing_in_it_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        list(read(tmp_path / "missing.json"))
    with pytest.raises(InputError, match="holds no trace"):
        list(read(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(GOOD)
    path.chmod(0)
    with pytest.raises(InputError, match="permission denied"):
        list(read_file(path))


def test_a_large_log_is_read_line_by_line_and_a_huge_line_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (exact, files):
        monkeypatch.setattr(module, "MAX_DOCUMENT", 400)
    path = tmp_path / "x.jsonl"
    small = [json.dumps({"messages": [user(f"{n}")]}) for n in range(8)]
    huge = json.dumps({"messages": [user("x" * 1000)]})
    path.write_text("\n".join([*small[:4], huge, *small[4:]]) + "\n")
    traces = list(read_file(path))
    assert [d.code for t in traces for d in t.damage] == ["line.unreadable"]
    assert len([t for t in traces if t.messages]) == 8
    path.write_text(json.dumps([user("x" * 1000)]))
    with pytest.raises(InputError, match="more than 400 bytes"):
        list(read_file(path))
