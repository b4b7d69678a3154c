"""A second opinion by meaning: an optional similarity of two texts, asked where the rules found a field or missed it.

It never changes a profile. Off unless a caller brings a similarity, such as the cosine of a small embedding model's
vectors; the rules' figures are always without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from tallystick.errors import InputError
from tallystick.handoff.checker.profile import Profile
from tallystick.handoff.checker.text import sentences

Similar = Callable[[str, str], float]
"""Two texts to a likeness, 1 for the same meaning."""
_FIELDS: Final = {"r_s": "status", "r_q": "prerequisite", "r_o": "authority", "r_f": "fallback"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """A field on which likeness and rules differ.

    Attributes:
        field: of the task's record.
        kind: `overlooked`, the rules miss it and a sentence is like it; `unlike`, they found it and none is.
        quote: the sentence most like it.
        likeness: what the similarity said of that sentence.
    """

    field: str
    kind: Literal["overlooked", "unlike"]
    quote: str
    likeness: float


def second_opinion(
    profile: Profile,
    task: Mapping[str, Any],
    artifact: str,
    similar: Similar,
    *,
    like: float = 0.6,
    unlike: float = 0.15,
) -> tuple[Doubt, ...]:
    """Return where a similarity doubts the profile. Likeness is of topic, not of force, so this is for a reader.

    Args:
        profile: what the rules said of this artifact.
        task: the task's record.
        artifact: the text.
        similar: the similarity; its own errors are the caller's.
        like: least likeness at which a field that the rules miss is doubted.
        unlike: likeness below which a field that they found is doubted.

    Raises:
        InputError: the bounds are not in order.
    """
    if not -1 <= unlike < like <= 1:
        raise InputError(f"bounds {unlike} and {like}", where="second_opinion", fix="-1 <= unlike < like <= 1")
    said = [s.said for s in sentences(artifact)]
    out = []
    for name, field in _FIELDS.items():
        text = str((task.get("z") or {}).get(field) or "")
        if not text or not said:
            continue
        score, quote = max((similar(text, s), s) for s in said)
        kept = bool(getattr(profile, name))
        if not kept and score >= like:
            out.append(Doubt(field=field, kind="overlooked", quote=quote, likeness=score))
        elif kept and score < unlike:
            out.append(Doubt(field=field, kind="unlike", quote=quote, likeness=score))
    return tuple(out)
