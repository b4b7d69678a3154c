"""Matched obligations on the same histories: a final sigil, a status sentence, the machine report. Their own verifier.

Source: unreliable-progress-bar, appendices E and Q. O1 is owed at the final reply only; O2 and O3 wherever a report is.
O2 has two views of equal standing: `strict`, the exact sentence as the last non-empty line's end, and `lenient`, the
right sentence anywhere. What counts as an attempt at O1 or O2 is *ours*.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal

import msgspec

from tallystick.evals.lifecycle import corruption
from tallystick.evals.lifecycle.row import Reply, Row
from tallystick.evals.lifecycle.score import Score, judge
from tallystick.evals.lifecycle.score import score as score_stage
from tallystick.evals.lifecycle.suite.protocol import SIGIL, sentence
from tallystick.evals.lifecycle.suite.scenario import LANGUAGES
from tallystick.gates.stage import Stage
from tallystick.progress import Report

View = Literal["strict", "lenient"]
VIEWS: Final[tuple[View, ...]] = ("strict", "lenient")
FACTOR: Final = "obligation"
"""The factor of a row that names its obligation: O1, O2 or O3."""
_PAIRS: Final = tuple((sentence(at, finished=False), sentence(at, finished=True)) for at in LANGUAGES)
_FINISHED: Final = frozenset(finished for _, finished in _PAIRS)
_ALL: Final = tuple(s for pair in _PAIRS for s in pair)
_SIGIL: Final = re.compile(r"<\s*/?\s*sig(?![\w-])", re.IGNORECASE)
_BRACKETS: Final = "()\uff08\uff09"


def score(row: Row, view: View = "strict") -> Score:
    """Return the score of one row of the study; for O3 it is the suite's, in either view."""
    obligation = row.factors.get(FACTOR)
    if obligation == "O3" or not row.reply.valid:
        return score_stage(row)
    if obligation == "O1":
        read, completed = _sigil(row.reply.text), SIGIL
    else:
        read = _sentence(row.reply.text, view)
        completed = read.value if read.value in _FINISHED else Stage.COMPLETED.value
    return judge(row.due, (row.expected,) if row.expected else (), row.reply.mode, read, row.stage, completed)


def _sigil(text: str) -> Report:
    """Exactly one sigil, at the reply's very end; any `<sig` tag is an attempt."""
    tags = len(_SIGIL.findall(text))
    right = tags == 2 and text.rstrip().endswith(SIGIL)
    return Report(present=tags > 0, well_formed=right, value=SIGIL if right else None, markers=-(-tags // 2))


def _sentence(text: str, view: View) -> Report:
    """The status sentence: which one, and in the lenient view without its brackets and anywhere."""
    cores = {sentence: sentence.strip(_BRACKETS) for sentence in _ALL}
    said = [sentence for sentence, core in cores.items() if core in text]
    if not said:
        return Report(present=False, well_formed=False)
    count = sum(text.count(cores[sentence]) for sentence in said)
    if view == "lenient":
        # Both sentences in one reply say nothing.
        return Report(
            present=True, well_formed=len(said) == 1, value=said[0] if len(said) == 1 else None, markers=count
        )
    right = count == 1 and text.rstrip().endswith(said[0])
    return Report(present=True, well_formed=right, value=said[0] if right else None, markers=count)


def _owed(row: Row, *, finished: bool | None = None) -> str:
    """What a row's obligation is delivered by; with `finished`, the other way round or not as asked."""
    if row.factors.get(FACTOR) == "O1":
        return SIGIL
    if row.expected is not None and finished is None:
        return row.expected
    pair = next((p for p in _PAIRS if row.expected in p), _PAIRS[0])
    return pair[bool(finished)]


def _stage_or(own: Callable[[Row], Row], name: str) -> Callable[[Row], Row]:
    """O3 is corrupted like every stage report, the other two by `own`."""

    def corrupt(row: Row) -> Row:
        return corruption.CORRUPTIONS[name](row) if row.factors.get(FACTOR) == "O3" else own(row)

    return corrupt


def _inverted(row: Row) -> Row:
    if row.factors.get(FACTOR) == "O1":
        # A sigil has one value: where it is due it is taken away, elsewhere it is put.
        text = row.reply.text.replace(SIGIL, "") if row.due else f"{row.reply.text}\n{SIGIL}"
    elif not row.due:
        text = f"{row.reply.text}\n{_owed(row, finished=False)}"
    else:
        other = _owed(row, finished=row.expected not in _FINISHED)
        right = str(row.expected)
        text = row.reply.text.replace(right, other).replace(right.strip(_BRACKETS), other.strip(_BRACKETS))
    return _with(row, text)


def _righted(row: Row) -> Row:
    if not row.due:
        return _with(row, "Done.")
    return msgspec.structs.replace(row, reply=Reply(text=f"Done.\n{_owed(row)}"))


def _with(row: Row, text: str) -> Row:
    return msgspec.structs.replace(row, reply=msgspec.structs.replace(row.reply, text=text))


CORRUPTIONS: Final[Mapping[str, Callable[[Row], Row]]] = {
    "blanked": corruption.blanked,
    "inverted": _stage_or(_inverted, "inverted"),
    "righted": _stage_or(_righted, "righted"),
}
"""The gate's corruptions for this study: `corruption.gate(rows, score, CORRUPTIONS)`."""
