"""Where obligations come from on surfaces whose task does not say: gold, as a labelled upper bound, or a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from tallystick.contracts.types import Contract
from tallystick.evals.takeover.surface import Frontier
from tallystick.model.events import Obliged
from tallystick.runtime.extraction import Extractor, structured
from tallystick.view import View

Source = Literal["task", "gold", "model"]
"""task: the contract's own template · gold: the author's actions that are still open, so a labelled upper bound: what
the stages come to where nothing owed is missed · model: a model reads the conversation, and never gold."""
SOURCES: Final[tuple[Source, ...]] = get_args(Source)


@dataclass(frozen=True, kw_only=True, slots=True)
class FromGold:
    """The gold-built extractor of one frontier. What it makes is kept out of every figure of recall."""

    frontier: Frontier
    made_from: Source = "gold"

    def __call__(self, view: View, contract: Contract) -> Sequence[Obliged]:
        """Return the gold effects that the record does not show as done."""
        gold = self.frontier.gold
        asked = [
            {"tool": one.tool, "args": dict(one.args), "id": f"gold:{one.tool}:{n}"}
            for n, one in enumerate((*gold.done, *gold.owed), 1)
        ]
        found: Any = structured(asked)(view, contract)
        return list(found)


@dataclass(frozen=True, kw_only=True, slots=True)
class FromModel:
    """A model's extractor, asked once a frontier: all stages get the same contract."""

    extract: Extractor
    made_from: Source = "model"
    _found: dict[str, Sequence[Obliged]] = field(default_factory=dict)

    def __call__(self, view: View, contract: Contract) -> Sequence[Obliged]:
        """Return what the model found in the record of this run, the first time it was asked about it."""
        if view.run not in self._found:
            found: Any = self.extract(view, contract)
            self._found[view.run] = list(found)
        return self._found[view.run]
