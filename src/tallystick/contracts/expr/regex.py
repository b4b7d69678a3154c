"""`matches`: a search for an RE2 pattern in time linear in the text (CEL language definition, "Regular expressions").

Python's own `re` backtracks, so one pattern over a hostile string could hang a gate. This is Thompson's construction
with a simulated automaton (Pike's loop, without captures): every character is read once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MAX_STATES: Final = 1_000
"""Largest automaton, in states; counted repetitions are written out."""
MAX_STEPS: Final = 2_000_000
"""Most state visits in one search."""
Ranges = tuple[tuple[int, int], ...]
_TOP: Final = 0x10FFFF
_DIGIT: Final[Ranges] = ((48, 57),)
_WORD: Final[Ranges] = ((48, 57), (65, 90), (95, 95), (97, 122))
_SPACE: Final[Ranges] = ((9, 10), (12, 13), (32, 32))
_CLASSES: Final[dict[str, Ranges]] = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_POSIX: Final[dict[str, Ranges]] = {
    "alnum": ((48, 57), (65, 90), (97, 122)), "alpha": ((65, 90), (97, 122)), "blank": ((9, 9), (32, 32)),
    "digit": _DIGIT, "lower": ((97, 122),), "upper": ((65, 90),), "space": ((9, 13), (32, 32)), "word": _WORD,
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)), "xdigit": ((48, 57), (65, 70), (97, 102)),
}  # fmt: skip
_ESCAPES: Final = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "a": 7}


class StepsExceededError(Exception):
    """The search would take more than `MAX_STEPS` state visits."""


@dataclass(slots=True)
class _State:
    """One state: a character set to read, an assertion to hold, or a split; `out` are the next states."""

    ranges: Ranges | None = None
    assertion: str | None = None
    out: tuple[int, ...] = ()
    fold: bool = False


Fragment = Callable[[int], int]
"""Given the state that follows, adds a piece's states and returns its first."""


class Pattern:
    r"""A compiled pattern.

    Raises:
        ValueError: not an RE2 pattern, one that uses what is not supported (`\p`, `\C`), or one that is too large.
    """

    def __init__(self, source: str) -> None:
        self._states: list[_State] = [_State()]  # state 0 accepts
        parser = _Parser(source, self._states)
        fragment = parser.alternatives(0)
        if parser.at != len(source):
            raise ValueError("unmatched `)`")
        self._start = fragment(0)

    def search(self, text: str) -> bool:
        """Return whether the pattern occurs anywhere in `text`.

        Raises:
            StepsExceededError: it would take too long.
        """
        active: set[int] = set()
        steps = 0
        before = -1
        for at in range(len(text) + 1):
            after = ord(text[at]) if at < len(text) else -1
            pending = [*active, self._start]
            seen: set[int] = set()
            active = set()
            while pending:
                index = pending.pop()
                if index in seen:
                    continue
                if index == 0:
                    return True
                seen.add(index)
                state = self._states[index]
                if state.ranges is not None:
                    if after >= 0 and _contains(state, after):
                        active.add(state.out[0])
                elif state.assertion is None or _holds(state.assertion, before, after):
                    pending.extend(state.out)
            steps += len(seen)
            if steps > MAX_STEPS:
                raise StepsExceededError
            before = after
        return False


def _contains(state: _State, code: int) -> bool:
    assert state.ranges is not None
    if any(low <= code <= high for low, high in state.ranges):
        return True
    if state.fold:
        for other in (chr(code).lower(), chr(code).upper()):
            if len(other) == 1 and any(low <= ord(other) <= high for low, high in state.ranges):
                return True
    return False


def _is_word(code: int) -> bool:
    return code >= 0 and any(low <= code <= high for low, high in _WORD)


def _holds(assertion: str, before: int, after: int) -> bool:
    match assertion:
        case "start":
            return before < 0
        case "end":
            return after < 0
        case "line start":
            return before < 0 or before == 10
        case "line end":
            return after < 0 or after == 10
        case "boundary":
            return _is_word(before) != _is_word(after)
        case _:
            return _is_word(before) == _is_word(after)


def _negated(ranges: Ranges) -> Ranges:
    out, low = [], 0
    for first, last in sorted(ranges):
        if first > low:
            out.append((low, first - 1))
        low = max(low, last + 1)
    if low <= _TOP:
        out.append((low, _TOP))
    return tuple(out)


class _Parser:
    def __init__(self, source: str, states: list[_State]) -> None:
        self.source = source
        self.states = states
        self.at = 0
        self.fold = self.dotall = self.multiline = False

    def add(self, state: _State) -> int:
        if len(self.states) >= MAX_STATES:
            raise ValueError(f"more than {MAX_STATES} states")
        self.states.append(state)
        return len(self.states) - 1

    @property
    def here(self) -> str:
        return self.source[self.at : self.at + 1]

    def take(self) -> str:
        char = self.here
        if not char:
            raise ValueError("the pattern ends too soon")
        self.at += 1
        return char

    def accept(self, text: str) -> bool:
        if self.source.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def alternatives(self, depth: int) -> Fragment:
        if depth > 50:
            raise ValueError("nested too deeply")
        flags = (self.fold, self.dotall, self.multiline)
        branches = [self.sequence(depth)]
        while self.accept("|"):
            branches.append(self.sequence(depth))
        self.fold, self.dotall, self.multiline = flags
        if len(branches) == 1:
            return branches[0]
        return lambda after: self.add(_State(out=tuple(branch(after) for branch in branches)))

    def sequence(self, depth: int) -> Fragment:
        parts: list[Fragment] = []
        while self.here and self.here not in "|)":
            parts.append(self.repeated(depth))

        def chain(after: int) -> int:
            for part in reversed(parts):
                after = part(after)
            return after

        return chain

    def repeated(self, depth: int) -> Fragment:
        piece = self.piece(depth)
        quantified = False
        while True:
            counts = self.quantifier()
            if counts is None:
                return piece
            if quantified:
                raise ValueError("two repetitions in a row")
            quantified = True
            self.accept("?")  # lazy or greedy is the same for a yes or no
            piece = self.times(piece, *counts)

    def quantifier(self) -> tuple[int, int | None] | None:
        for char, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.accept(char):
                return counts
        if self.here != "{":
            return None
        end = self.source.find("}", self.at)
        low, comma, high = self.source[self.at + 1 : end].partition(",") if end > 0 else ("", "", "")
        if not _digits(low) or (high and not _digits(high)):
            return None  # RE2: a `{` that starts no repetition is itself
        self.at = end + 1
        least, most = int(low), (int(high) if high else None) if comma else int(low)
        if least > 1_000 or (most or 0) > 1_000 or (most is not None and most < least):
            raise ValueError("a repetition of more than 1000, or backwards")
        return least, most

    def times(self, piece: Fragment, least: int, most: int | None) -> Fragment:
        def build(after: int) -> int:
            if most is None:
                split = self.add(_State())
                self.states[split].out = (piece(split), after)
                after = split
            else:
                end = after
                for _ in range(most - least):
                    after = self.add(_State(out=(piece(after), end)))
            for _ in range(least):
                before, after = after, piece(after)
                if after == before:
                    break  # the piece is empty, and stays so however often it is written out
            return after

        return build

    def piece(self, depth: int) -> Fragment:
        char = self.take()
        if char == "(":
            return self.group(depth)
        if char == "[":
            return self.reads(self.bracket())
        if char == ".":
            return self.reads(((0, _TOP),) if self.dotall else _negated(((10, 10),)))
        if char == "^":
            return self.asserts("line start" if self.multiline else "start")
        if char == "$":
            return self.asserts("line end" if self.multiline else "end")
        if char == "\\":
            return self.escape()
        if char in "*+?":
            raise ValueError(f"nothing to repeat before `{char}`")
        return self.reads(((ord(char), ord(char)),))

    def group(self, depth: int) -> Fragment:
        if self.accept("?"):
            if self.accept("P<") or self.accept("<"):
                name, found, _ = self.source[self.at :].partition(">")
                if not found or not name.isidentifier():
                    raise ValueError("a group name that cannot be read")
                self.at += len(name) + 1
            elif not self.accept(":"):
                return self.flags(depth)
        inner = self.alternatives(depth + 1)
        if not self.accept(")"):
            raise ValueError("`(` is not closed")
        return inner

    def flags(self, depth: int) -> Fragment:
        outer = (self.fold, self.dotall, self.multiline)
        value = True
        while (char := self.take()) not in ":)":
            match char:
                case "-":
                    value = False
                case "i":
                    self.fold = value
                case "s":
                    self.dotall = value
                case "m":
                    self.multiline = value
                case "U":
                    pass  # swaps lazy and greedy, which is the same for a yes or no
                case _:
                    raise ValueError(f"`(?{char}` is not supported")
        if char == ")":
            return lambda after: after  # the flags hold to the end of the enclosing group
        inner = self.alternatives(depth + 1)
        if not self.accept(")"):
            raise ValueError("`(` is not closed")
        self.fold, self.dotall, self.multiline = outer
        return inner

    def escape(self) -> Fragment:
        char = self.take()
        named = {"A": "start", "z": "end", "b": "boundary", "B": "inside"}
        if char in named:
            return self.asserts(named[char])
        if char.lower() in _CLASSES:
            return self.reads(_negated(_CLASSES[char.lower()]) if char.isupper() else _CLASSES[char])
        code = self.code(char)
        return self.reads(((code, code),))

    def code(self, char: str) -> int:
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char == "x":
            digits = self.source[self.at : self.at + 2]
            if self.accept("{"):
                digits, found, _ = self.source[self.at :].partition("}")
                self.at += 1 if found else 0
            if not digits or len(digits) > 6 or any(d not in "0123456789abcdefABCDEF" for d in digits):
                raise ValueError("`\\x` needs hexadecimal digits")
            self.at += len(digits)
            if int(digits, 16) > _TOP:
                raise ValueError("`\\x` beyond the last character")
            return int(digits, 16)
        if char.isascii() and char.isalnum():
            raise ValueError(f"`\\{char}` is not supported")
        return ord(char)

    def bracket(self) -> Ranges:
        negative = self.accept("^")
        ranges: list[tuple[int, int]] = []
        first = True
        while first or self.here != "]":
            first = False
            if self.accept("[:"):
                name, found, _ = self.source[self.at :].partition(":]")
                wanted = _POSIX.get(name.removeprefix("^"))
                if not found or wanted is None:
                    raise ValueError("an unknown class inside `[[: :]]`")
                self.at += len(name) + 2
                ranges.extend(_negated(wanted) if name.startswith("^") else wanted)
                continue
            low = self.member()
            if isinstance(low, tuple):
                ranges.extend(low)
                continue
            high = low
            if self.here == "-" and self.source[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                top = self.member()
                if isinstance(top, tuple) or top < low:
                    raise ValueError("a range that runs backwards")
                high = top
            ranges.append((low, high))
        self.at += 1
        if negative and self.fold:
            ranges.extend(_folded(ranges))
        return _negated(tuple(ranges)) if negative else tuple(ranges)

    def member(self) -> int | Ranges:
        char = self.take()
        if char != "\\":
            return ord(char)
        char = self.take()
        if char.lower() in _CLASSES:
            return _negated(_CLASSES[char.lower()]) if char.isupper() else _CLASSES[char]
        return self.code(char)

    def reads(self, ranges: Ranges) -> Fragment:
        fold = self.fold
        return lambda after: self.add(_State(ranges=ranges, out=(after,), fold=fold))

    def asserts(self, name: str) -> Fragment:
        return lambda after: self.add(_State(assertion=name, out=(after,)))


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 6


def _folded(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the other case of the ASCII letters in `ranges`, so that a negated class excludes both."""
    found = []
    for low, high in ranges:
        for code in range(max(low, 65), min(high, 122) + 1):
            if chr(code).isalpha():
                other = ord(chr(code).swapcase())
                found.append((other, other))
    return found
