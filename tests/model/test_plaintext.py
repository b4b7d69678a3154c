"""Foreign text is shown, never obeyed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tallystick.model.plaintext import printable


@given(st.text(st.characters(), max_size=40))
def test_what_is_shown_holds_nothing_a_terminal_obeys(text: str) -> None:
    """No control, no direction override, no surrogate is left, and ordinary text stays as it is."""
    shown = printable(text)
    assert shown.isprintable()
    assert printable(shown) == shown
    if text.isprintable():
        assert shown == text


def test_escapes_and_overrides_are_written_out() -> None:
    """An escape sequence and a right-to-left override become visible; a kept line feed stays."""
    assert printable("\x1b[31mred\u202e\ud800") == "\\x1b[31mred\\u202e\\ud800"
    assert printable("a\nb\r", keep="\n") == "a\nb\\r"
