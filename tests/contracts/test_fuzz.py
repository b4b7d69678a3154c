"""Whatever a file holds, the loader answers with a contract or with one `ContractError`; nothing else gets out."""

from __future__ import annotations

import contextlib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick import contracts
from tallystick.errors import ContractError
from tests.contracts.test_published_schema import EXAMPLES, documents

TEXTS = [path.read_text(encoding="utf-8") for path in EXAMPLES]
SNIPPETS = [
    "", ":", "- ", "{", "}", "[", '"', "'", "\t", "#", "&a ", "*a", "!!int ", "---\n", "\ufeff", "\x00", "\ud800",
    "\\ud800", '"\\ud800"', "9223372036854775808", "1e999", "~", "%", "args.", " unless ", " shows ", " where ", " as ",
    "each ", "(", ")", "sum(", "optional ", "money(", "/", "~2", "*", "\r\n", "é", "\u2028", "now", "item", "task.",
]  # fmt: skip


@settings(max_examples=200)
@given(documents())
def test_any_mapping_is_a_contract_or_a_contract_error(value: Any) -> None:
    with contextlib.suppress(ContractError):
        contracts.build(value)


@st.composite
def edited(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(SNIPPETS)) + text[at + draw(st.integers(0, 6)) :]
    return text


@settings(max_examples=120)
@given(edited())
def test_any_edit_of_a_text_is_a_contract_or_a_contract_error(text: str) -> None:
    with contextlib.suppress(ContractError):
        contracts.parse(text, "x.yaml")


@given(st.binary(max_size=60))
def test_any_bytes_are_a_contract_or_a_contract_error(raw: bytes) -> None:
    with contextlib.suppress(ContractError):
        contracts.parse(raw)
