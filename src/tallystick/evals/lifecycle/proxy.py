"""The frozen lexical task proxy: does the visible turn do its part, whatever became of the report?

Tokens are frozen per scenario beside its texts. A proxy over the words of one turn, never an environment's outcome.
Source: unreliable-progress-bar, appendix R; which tokens and which form each checkpoint wants is *reconstructed*: the
source says only that a clarification needs an interrogative form and the required field's token.
"""

from __future__ import annotations

from typing import Final

from tallystick.evals.lifecycle.row import Row
from tallystick.evals.lifecycle.suite.scenario import Language, scenario

_ASKS: Final = ("?", "\uff1f", "吗", "呢", "请提供", "请告诉", "请问", "please tell", "please provide", "could you")


def passes(row: Row) -> bool | None:
    """Return whether a spoken turn passes, or None where the proxy says nothing: a tool call, or no response."""
    if not row.reply.valid or row.reply.mode != "speak":
        return None
    language: Language = "en" if row.study.endswith("-en") or row.arm == "english" else "zh"
    concepts = scenario(row.scenario).words(language).concepts
    text = row.reply.text.lower()

    def says(tokens: tuple[str, ...]) -> bool:
        return any(token.lower() in text for token in tokens)

    asks = any(sign in text for sign in _ASKS)
    if row.checkpoint in ("wait", "pre_tool"):
        return asks and says(concepts.field)
    if row.checkpoint == "ready":
        return asks and says(concepts.first)
    if row.checkpoint == "step":
        return says(concepts.first)
    if row.checkpoint == "done":
        return says(concepts.second or concepts.first)
    return None  # a turn that should have been a call, or a courtesy: nothing to say about the task
