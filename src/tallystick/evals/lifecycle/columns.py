"""Scored rows by column, so that a measure of 50,400 checkpoints is a few array operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.evals.common.intervals import numpy
from tallystick.evals.lifecycle.row import Row
from tallystick.evals.lifecycle.score import CODES, Code, Reading, Score, score
from tallystick.gates.stage import Stage
from tallystick.progress import STAGES, TAU2_STAGES

NAMED: Final = ("study", "deployment", "scenario", "checkpoint", "encoding", "arm")
ORDER: Final = tuple(Stage)
"""Stages in the order in which a task passes them: an earlier one is stale, `completed` too early is premature."""
REPORTED: Final = (*(s.value for s in ORDER), "other value", "malformed", "no report", "tool call")
"""What a due row says, for the matrix: a stage, another well-formed value, or why there is none."""
_CODE: Final = {code: number for number, code in enumerate(CODES)}
_STAGE: Final = {stage: number for number, stage in enumerate(ORDER)}
_VALUE: Final = {value: n for values in (STAGES, TAU2_STAGES) for n, value in enumerate(values)}
_OTHER, _MALFORMED, _NONE, _CALL = range(len(ORDER), len(REPORTED))


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Rows with their scores. Every array has one entry a row.

    Attributes:
        names: the distinct names of each of `NAMED` and of each factor, in the order of their first row.
        index: for each of those, the number of the row's name; -1 where a row has no such factor.
        due, s, m, e, v, f, w: D, the flags, and W (false completion).
        code: index into `CODES`.
        stage: Z*, index into `ORDER`; -1 where a row has none.
        reported: index into `REPORTED`.
    """

    names: Mapping[str, tuple[str, ...]]
    index: Mapping[str, Any]
    due: Any
    s: Any
    m: Any
    e: Any
    v: Any
    f: Any
    w: Any
    code: Any
    stage: Any
    reported: Any
    reading: Reading = "strict"
    _flags: tuple[str, ...] = field(
        default=("due", "s", "m", "e", "v", "f", "w", "code", "stage", "reported"), repr=False
    )

    def __len__(self) -> int:
        return len(self.code)

    def coded(self, code: Code) -> Any:
        """Return which rows have a code."""
        return self.code == _CODE[code]

    def named(self, by: str, *wanted: str) -> Any:
        """Return which rows have one of these names in a column. A name that no row has is no error: none have it."""
        np = numpy()
        if by not in self.names:
            return np.zeros(len(self), dtype=bool)
        found = [n for n, name in enumerate(self.names[by]) if name in wanted]
        return np.isin(self.index[by], found)

    def at(self, *stages: Stage) -> Any:
        """Return which rows have one of these true stages."""
        return numpy().isin(self.stage, [_STAGE[s] for s in stages])

    def where(self, mask: Any) -> Columns:
        """Return the rows of a mask."""
        parts = {name: getattr(self, name)[mask] for name in self._flags}
        index = {by: numbers[mask] for by, numbers in self.index.items()}
        return Columns(names=self.names, index=index, reading=self.reading, **parts)

    def only(self, **wanted: str | Sequence[str]) -> Columns:
        """Return the rows with these names: `only(arm="baseline", encoding=("xml", "json"))`."""
        mask = numpy().ones(len(self), dtype=bool)
        for by, names in wanted.items():
            mask &= self.named(by, *((names,) if isinstance(names, str) else names))
        return self.where(mask)

    def present(self, by: str) -> tuple[str, ...]:
        """Return the names that rows here have in a column, in the order of their first row in the whole."""
        if by not in self.names:
            return ()
        have = set(numpy().unique(self.index[by]).tolist())
        return tuple(name for n, name in enumerate(self.names[by]) if n in have)

    def per_cluster(self, mask: Any, hits: Any) -> Any:
        """Return hits and rows of a mask, summed per scenario: array (scenarios of the whole, 2)."""
        np = numpy()
        cluster, size = self.index["scenario"], len(self.names["scenario"])
        of = np.bincount(cluster[mask], minlength=size)
        hit = np.bincount(cluster[mask & hits], minlength=size)
        return np.stack([hit, of], axis=1)


def columns(rows: Iterable[Row], reading: Reading = "strict", scores: Iterable[Score] | None = None) -> Columns:
    """Score rows and return them by column.

    Args:
        rows: of one study, or of several that will be told apart by `study`.
        reading: which reading of the replies.
        scores: scores made already, one a row; `reading` says how they were made.

    Raises:
        InputError: there are no rows, or numpy is not installed.
    """
    np = numpy()
    rows = list(rows)
    if not rows:
        raise InputError("there are no rows to score")
    made = [score(row, reading) for row in rows] if scores is None else list(scores)
    factors = tuple(dict.fromkeys(name for row in rows for name in row.factors))
    clash = next((f for f in factors if f in NAMED), None)
    if clash is not None:
        raise InputError(f"a factor is named `{clash}` like a field of every row", where="factors")
    names, index = {}, {}
    for by in NAMED:
        names[by], index[by] = _numbered([getattr(row, by) for row in rows])
    for by in factors:
        names[by], index[by] = _numbered([row.factors.get(by) for row in rows])
    count = len(rows)
    flags = {
        name: np.fromiter((getattr(one, long) for one in made), dtype=bool, count=count)
        for name, long in (*((f, f) for f in "smevf"), ("w", "false_completion"))
    }
    return Columns(
        names=names, index=index, reading=reading, **flags,
        due=np.fromiter((row.due for row in rows), dtype=bool, count=count),
        code=np.fromiter((_CODE[one.code] for one in made), dtype=np.int8, count=count),
        stage=np.fromiter((-1 if r.stage is None else _STAGE[r.stage] for r in rows), dtype=np.int8, count=count),
        reported=np.fromiter((_reported(one) for one in made), dtype=np.int8, count=count),
    )  # fmt: skip


def _numbered(values: Sequence[str | None]) -> tuple[tuple[str, ...], Any]:
    np = numpy()
    numbers: dict[str | None, int] = {None: -1}
    for value in values:
        numbers.setdefault(value, len(numbers) - 1)
    names = tuple(v for v in numbers if v is not None)
    return names, np.fromiter((numbers[v] for v in values), dtype=np.int32, count=len(values))


def _reported(one: Score) -> int:
    if one.value is not None:
        known = _OTHER if one.out_of_vocabulary else _VALUE.get(one.value, _OTHER)
        return known if one.m else _CALL
    if one.s and not one.m:
        return _CALL
    return _MALFORMED if one.e else _NONE
