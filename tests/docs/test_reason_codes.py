"""docs/reference/reason-codes.md and audit-rules.md have every code of the source, and no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import msgspec

from tallystick.model.events import AnyBody

ROOT = Path(__file__).resolve().parents[2]
CODE = re.compile(r"(?!tallystick\.)[a-z]+\.(?!(?:json|jsonl|yaml|md|py|db)\Z)[a-z_]+")
"""A code, and no name of a file or module."""
ROW = re.compile(r"^\| `([a-z]+\.[a-z_]+)` \| (.+) \|$", re.MULTILINE)
LAYERS = ("gates", "view", "certificates", "prose", "handoff", "runtime", "audit", "traces")
OF_VERDICTS = {"act.hold", "act.refuse", "act.return_recorded", "act.reconcile"}
"""Built from the verdict, so no literal in the source."""


def in_source() -> set[str]:
    """Every string of the layers' sources that has the form of a code, kinds of events aside."""
    found = set()
    for layer in LAYERS:
        for path in (ROOT / "src" / "tallystick" / layer).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
                    found.add(node.value)
    return found - kinds()


def kinds() -> set[str]:
    """The kinds of events, which have the same form."""
    return {str(t.__struct_config__.tag) for t in AnyBody.__args__ if issubclass(t, msgspec.Struct)}


def documented(name: str) -> dict[str, str]:
    """Code -> sentence, of one page."""
    rows = ROW.findall((ROOT / "docs" / "reference" / name).read_text(encoding="utf-8"))
    assert len(dict(rows)) == len(rows), "a code has two rows"
    return dict(rows)


def test_every_code_has_a_sentence_and_every_sentence_a_code() -> None:
    """What a program may meet is on one of the two pages, and nothing on them is invented."""
    pages = {**documented("audit-rules.md"), **documented("reason-codes.md")}
    assert set(pages) - OF_VERDICTS == in_source()
    assert all(len(sentence.split()) >= 3 for sentence in pages.values())


def test_codes_of_decisions_are_on_the_page_of_reason_codes() -> None:
    """The audit's page has only what the audit and the importers say."""
    codes = set()
    for layer in ("gates", "runtime"):
        for path in (ROOT / "src" / "tallystick" / layer).rglob("*.py"):
            codes |= set(
                re.findall(r'(?:code=|_refuse\(|refusal\(|rejection\()"([a-z]+\.[a-z_]+)"', path.read_text("utf-8"))
            )
    assert len(codes) > 40
    assert codes <= set(documented("reason-codes.md"))
