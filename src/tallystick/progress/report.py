"""The parser of progress reports: deterministic, linear in its input, equally strict for both encodings.

Source: unreliable-progress-bar, section 3.1 and appendices E and K (one marker, well formed, the last non-empty line;
two parsers of different strictness were the paper's own defect). Which traces count as an attempt is *ours*:
docs/reference/eval-lifecycle.md has the rules this file follows, in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from tallystick.errors import InputError
from tallystick.progress.envelope import unwrapped
from tallystick.progress.reading import readable

Encoding = Literal["xml", "json"]
ENCODINGS: Final[tuple[Encoding, ...]] = ("xml", "json")
STAGES: Final = ("needs_information", "ready_for_action", "post_observation_continue", "completed")
"""Values of the frozen suite's protocol, which are also the runtime's own names of the stages."""
TAU2_STAGES: Final = ("NEEDS_INFO", "READY", "POST_OBS", "COMPLETED")
"""Values of the duty added to the tau2 benchmark."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What a reply reports.

    Attributes:
        present: at least one trace of a report, whatever its encoding or shape.
        well_formed: exactly one marker, and it is the last non-empty line, byte for byte in the expected encoding.
        value: the value of a well-formed report, else None.
        out_of_vocabulary: the report is well formed and its value is none of the vocabulary: a wrong value.
        markers: how many markers were counted, both encodings together.
    """

    present: bool
    well_formed: bool
    value: str | None = None
    out_of_vocabulary: bool = False
    markers: int = 0


ABSENT: Final = Report(present=False, well_formed=False)

# A name ends where no letter, digit, `_` or `-` follows; the end of the text will do, so that a cut-off tag counts.
_OPEN: Final = re.compile(r"<\s*stage(?![\w-])|\[stage\]|【stage】|《stage》|〈stage〉")
_CLOSE: Final = re.compile(r"<\s*/\s*stage(?![\w-])|\[/stage\]|【/stage】|《/stage》|〈/stage〉")
_QUOTES: Final = "\"'\u201c\u201d\u2018\u2019"
_KEY: Final = re.compile(rf"[{_QUOTES}]stage\\*[{_QUOTES}]\s*[:=]")  # backslashes before the first quote need no look
_LINES: Final = re.compile(r"\r\n|\n|\r")
_AROUND: Final = rf"[{_QUOTES}*_`>#\-\s]*+"
"""Quotes, mark-up and white space that are ignored around a bare line's parts. Possessive: nothing is tried twice."""
_LAST: Final = {
    # The same word between both templates' ends, so neither encoding accepts a value that the other refuses.
    "xml": re.compile(r"<stage>([\w-]+)</stage>"),
    "json": re.compile(r'"stage": "([\w-]+)"'),
}


def parse_report(
    text: str, encoding: Encoding, envelope: bool = False, *, vocabulary: Collection[str] = STAGES
) -> Report:
    """Return what `text` reports.

    Args:
        text: the raw reply; any text, lone surrogates included. Time and memory are linear in its length.
        encoding: what the protocol asked for.
        envelope: first unwrap a reply that is a JSON object with a `message` string, or a JSON string; any other JSON
            carries no report. A diagnostic, never the main score.
        vocabulary: the values of the protocol, `STAGES` or `TAU2_STAGES`.

    Raises:
        InputError: the encoding is neither `xml` nor `json`. No text raises.
    """
    last = _LAST.get(encoding) if isinstance(encoding, str) else None
    if last is None:
        raise InputError(f"unknown encoding `{encoding}`", where="encoding", fix="one of: xml, json")
    if envelope:
        inner = unwrapped(text)
        if inner is None:
            return ABSENT
        text = inner
    count = markers(text, vocabulary)
    if not count:
        return ABSENT
    match = last.fullmatch(_last_line(text)) if count == 1 else None
    if match is None:
        return Report(present=True, well_formed=False, markers=count)
    value = match[1]
    return Report(present=True, well_formed=True, value=value, out_of_vocabulary=value not in vocabulary, markers=count)


def markers(text: str, vocabulary: Collection[str] = STAGES) -> int:
    """Return how many markers are left in `text` once it is decoded and folded, of both encodings together."""
    folded = readable(text)
    if "stage" not in folded:
        return 0
    opened = len(_OPEN.findall(folded))
    closed = len(_CLOSE.findall(folded))
    keys = len(_KEY.findall(folded))
    return opened + keys + max(0, closed - opened) + _bare(folded, tuple(vocabulary))


def _bare(folded: str, vocabulary: tuple[str, ...]) -> int:
    """Count the lines that are only `stage`, `:` or `=`, and a value, and hold no other trace."""
    whole = _bare_line(vocabulary)
    return sum(
        1
        for line in _LINES.split(folded)
        if "stage" in line and whole.fullmatch(line) and not any(p.search(line) for p in (_OPEN, _CLOSE, _KEY))
    )


@lru_cache(maxsize=16)
def _bare_line(vocabulary: tuple[str, ...]) -> re.Pattern[str]:
    values = "|".join(sorted((re.escape(v.lower()) for v in vocabulary), key=len, reverse=True))
    return re.compile(rf"{_AROUND}stage{_AROUND}[:=]{_AROUND}(?:{values}){_AROUND}(?:[.,;]{_AROUND})?+")


def _last_line(text: str) -> str:
    """Return the raw text's last line that is not empty, without space and tab at its ends; nothing is decoded."""
    body = text.rstrip(" \t\r\n")
    return body[max(body.rfind("\n"), body.rfind("\r")) + 1 :].lstrip(" \t")
