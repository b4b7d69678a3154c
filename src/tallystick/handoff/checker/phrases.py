"""Words and word pairs as a second reading: what the lists of cues do not know, a fitted table may.

A text becomes a set of features: its words with the task's own put as places (`<S>` a removed action, `<W>` the fallback,
`<Q>` the prerequisite, `<O>` the authority), pairs of neighbours, and each clause's words and cues beside what the clause
is about. `phrases.json` holds a weight for every feature and field, fitted by `benchmarks/handoff_checker_fit.py`; only
features that were met in eight tasks or more are in it. No model is asked: a sum is taken.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from typing import Final

from tallystick.handoff.checker.anchors import Anchors, keys_of, met
from tallystick.handoff.checker.reading import Read

FIELDS: Final = ("r_s", "r_q", "r_o", "r_f", "preserves")
"""The fields of a row of the table, in its order."""
MOST: Final[Mapping[str, float]] = {"r_s": 2.0, "r_q": 2.0, "r_o": 2.0, "r_f": 2.0, "preserves": 2.0}
"""Most that wording counts, in logits: it tips what the signals leave open and does not outvote them."""
_TOKEN: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|[?!:→=]|->|\d+[:.]?\d*|[\u3400-\u9fff]")
_DENIES: Final = re.compile(
    r"(?:not|no|never|none|nothing|nobody|neither|nor|without|cannot|\w+n't|kein\w*|nicht|sin|ni|nada)$"
)
_ABOUT: Final = {"stop": "S", "both": "S", "mixed": "S", "way": "W", "none": "-"}


def phrases(read: Read) -> frozenset[str]:
    """Return the features of an artifact as read."""
    found: set[str] = set()
    places: dict[str, str] = {}
    for clause in read.clauses:
        tokens = [_place(t, read, places) for t in _TOKEN.findall(clause.said.lower().replace("’", "'"))]
        about = _ABOUT[clause.about]
        tags = [about if clause.own else about.lower()]
        tags += ["Q"] * bool(clause.prerequisite) + ["O"] * clause.named
        mood = "NEG" if any(_DENIES.match(t) for t in tokens) else "POS"
        found |= {f"u {t}" for t in tokens}
        found |= {f"{tag}|{t}" for tag in tags for t in (*tokens, mood)}
        found |= {f"{tag}:{cue}" for tag in tags for cue in clause.cues}
        ends = ["^", *tokens, "$"]
        found |= {f"b {x} {y}" for x, y in pairwise(ends)}
        found |= {f"g {x} . {y}" for x, y in zip(tokens, tokens[2:], strict=False) if "<" in x + y}
        if clause.shape != "prose":
            found.add(f"sh {clause.shape}{about}")
    return frozenset(found)


def leaning(name: str, found: Iterable[str]) -> float:
    """Return what the table makes of a text for one field, in logits."""
    biases, weights = _table()
    known = [weights[f] for f in found if f in weights]
    at = FIELDS.index(name)
    leans = biases[at] + sum(row[at] for row in known) / math.sqrt(max(1, len(known)))
    return max(-MOST[name], min(MOST[name], leans))


def _place(token: str, read: Read, places: dict[str, str]) -> str:
    if token[0].isdigit():
        return "#"
    if len(token) < 3 or not token.isalpha():
        return token
    if token not in places:
        places[token] = _of(keys_of(token, read.language), read.anchors) or token
    return places[token]


def _of(keys: frozenset[str], anchors: Anchors) -> str:
    for place, anchor in (
        ("<S>", anchors.stop), ("<W>", anchors.way), ("<Q>", anchors.prerequisite), ("<O>", anchors.authority),
    ):  # fmt: skip
        if met(keys, anchor):
            return place
    return ""


@lru_cache(maxsize=1)
def _table() -> tuple[tuple[float, ...], Mapping[str, tuple[float, ...]]]:
    text = resources.files(__package__).joinpath("phrases.json").read_text(encoding="utf-8")
    kept = json.loads(text)
    return tuple(kept["bias"]), {f: tuple(row) for f, row in kept["weights"].items()}
