"""Which tools write, and who says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tallystick.audit import Tools, declared_in
from tallystick.errors import InputError
from tests.audit.build import ASK, agent, audited, did, found

TWICE = did("frobnicate", {"order_id": "O-17"}, {"status": "frobnicated"})


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("get_order", "read"), ("cancelOrder", "write"), ("orders.list", "read"), ("charge_create", "write"),
        ("validate_promo", "read"), ("book_hotel", "write"), ("frobnicate", "unknown"), ("", "unknown"),
    ],
)  # fmt: skip
def test_names_are_a_guess_and_say_so(name: str, effect: str) -> None:
    use = Tools().use(name)
    assert (use.effect, use.guess) == (effect, True)


def test_a_confirm_switch_is_a_hint() -> None:
    use = Tools().use("frobnicate", {"confirm": True})
    assert (use.effect, use.guess) == ("write", True)
    assert "confirm" in use.because


def test_findings_say_whether_the_tool_was_guessed() -> None:
    guessed = audited(ASK, agent("Done.", did("cancel_order", {"id": "O-17"}, {"status": "cancelled"}),
                                 did("cancel_order", {"id": "O-17"}, {"status": "cancelled"})))  # fmt: skip
    assert [(f.code, f.guess) for f in guessed.findings] == [("write.repeated", True)]
    named = audited(ASK, agent("Done.", TWICE, TWICE), writes=["frobnicate"])
    assert [(f.code, f.guess) for f in named.findings] == [("write.repeated", False)]


def test_tools_not_named_then_read() -> None:
    cancel = did("cancel_order", {"id": "O-17"}, {"status": "cancelled"})
    report = audited(ASK, agent("Fine.", cancel, cancel), writes=["frobnicate"])
    assert found(report) == []
    assert not report.tools["cancel_order"].guess


def test_schemas_declare_by_a_list_or_by_annotations(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"write_tools": ["a"], "tools": [{"name": "a"}, {"function": {"name": "b"}}]}))
    assert declared_in(path) == {"a": True, "b": False}
    hints = [
        {"name": "c", "annotations": {"readOnlyHint": True}},
        {"name": "d", "annotations": {"readOnlyHint": False}},
    ]
    path.write_text(json.dumps([*hints, {"name": "e"}]))
    assert declared_in(path) == {"c": False, "d": True}
    path.write_text("[]")
    with pytest.raises(InputError, match="says which tools write"):
        declared_in(path)
    with pytest.raises(InputError, match="cannot be read"):
        declared_in(tmp_path / "missing")
