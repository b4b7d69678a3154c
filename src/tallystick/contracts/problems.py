"""Collecting every problem of a text, each with the place it stands at."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from tallystick.contracts.expr import ExpressionProblem
from tallystick.contracts.yamltext import Path, Text
from tallystick.errors import ContractError, Problem
from tallystick.model.pointer import join


class Report:
    """The problems of one text. Reading goes on after each, so that all are found at once."""

    def __init__(self, text: Text, source: str | None, what: str = "contract") -> None:
        self.text = text
        self.what = what
        self.source = source
        self.problems: list[Problem] = []

    def add(
        self, path: Path, message: str, fix: str | None = None, *, at: int | None = None, key: bool = False
    ) -> None:
        """Record a problem of the field at `path`; `at` is an offset in its text, `key` points at its name."""
        line, column = self._place(path, key=key)
        inline = self.text.inline.get(path)
        if at is not None and inline is not None:
            line, column = inline[0], inline[1] + at
        self.problems.append(Problem(line=line, column=column, pointer=join(path), message=message, fix=fix))

    def expression(self, path: Path, bad: ExpressionProblem) -> None:
        """Record a problem inside the expression at `path`."""
        self.add(path, bad.message, bad.fix, at=bad.at)

    def unknown(self, path: Path, what: str, name: str, known: Iterable[str]) -> None:
        """Record a name that is not one of `known`."""
        self.add(path, f"unknown {what} `{name[:60]}`", did_you_mean(name, known))

    def _place(self, path: Path, *, key: bool) -> tuple[int, int]:
        found = (self.text.keys.get(path) if key else None) or self.text.marks.get(path)
        while found is None and path:
            path = path[:-1]
            found = self.text.marks.get(path)
        return found or (0, 0)

    def close(self) -> None:
        """Raise what was found.

        Raises:
            ContractError: there is at least one problem.
        """
        if self.problems:
            ordered = sorted(dict.fromkeys(self.problems), key=lambda p: (p.line, p.column, p.pointer))
            raise ContractError(tuple(ordered), source=self.source, what=self.what)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the fix for a name that is not one of `known`."""
    names = sorted(known)
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean `{close[0]}`?"
    return f"known here: {', '.join(f'`{n}`' for n in names[:20])}" if names else "nothing is declared that fits here"
