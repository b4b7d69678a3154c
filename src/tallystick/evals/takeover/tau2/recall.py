"""How much of what is owed a model finds in the user's words: recall and precision of a model's extraction.

The model is given what any extractor is: the record, the contract's tools, and the verified entities. Gold is only
compared with, afterwards. Without a model this is "not run".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.evals.takeover.surface import Wanted
from tallystick.evals.takeover.tau2.gold import known_of
from tallystick.evals.takeover.tau2.surface import Tau2Frontier
from tallystick.model import jsontext
from tallystick.model.events import Obliged
from tallystick.model.values import same
from tallystick.models.local import local_model
from tallystick.runtime.extraction import ModelExtractor, extracted_problems
from tallystick.view.keys import targets_of

_MAX_TOKENS: Final = 512


def asking_local(name: str, frontiers: Sequence[Tau2Frontier]) -> dict[str, Any]:
    """Return the recall of a local model; see `recall`.

    Raises:
        InputError: no such model, or it is not fetched or cannot be served.
    """
    with local_model(name) as endpoint:

        def ask(prompt: str) -> str:
            reply = endpoint.complete(
                {
                    "messages": [{"role": "user", "content": prompt}],
                    "temperature": 0,
                    "max_tokens": _MAX_TOKENS,
                    "stream": False,
                }
            )
            return str(reply["choices"][0]["message"].get("content") or "")

        return {"model": endpoint.model, **recall(ask, frontiers)}


def recall(ask: Callable[[str], str], frontiers: Sequence[Tau2Frontier]) -> dict[str, Any]:
    """Return how much of what is owed a model finds.

    - owed: gold writes still open; found: obligations the model stated; entity: pairs of them that agree in tool and in
      the entity they are about; args: those that besides state no argument otherwise.
    - unusable: answers that are no list of obligations, or that could not be had; refused: answers of which something
      has no support in the record, so that no contract would be frozen.
    """
    sums = dict.fromkeys(("frontiers", "owed", "found", "entity", "args", "unusable", "refused"), 0)
    for frontier in frontiers:
        owed = known_of(frontier.cut).writes
        sums["frontiers"] += 1
        sums["owed"] += len(owed)
        with frontier.open() as it:
            view = it.run.view
            try:
                found = list(ModelExtractor(ask)(view, frontier.contract))
            except InputError:
                sums["unusable"] += 1
                continue
            sums["found"] += len(found)
            sums["refused"] += bool(extracted_problems(view, frontier.contract, found))
            sums["entity"] += _pairs(found, owed, partial(_about, frontier.contract))
            sums["args"] += _pairs(found, owed, partial(_wholly, frontier.contract))
    return sums


def _pairs(found: Sequence[Obliged], owed: Sequence[Wanted], alike: Callable[[Obliged, Wanted], bool]) -> int:
    """Return how many of what is owed are met, each by an obligation of its own."""
    free = list(found)
    met = 0
    for wanted in owed:
        one = next((f for f in free if alike(f, wanted)), None)
        if one is not None:
            free.remove(one)
            met += 1
    return met


def _about(contract: Contract, one: Obliged, wanted: Wanted) -> bool:
    tool = contract.tools[wanted.tool]
    refs = targets_of(tool, wanted.args)
    stated = targets_of(tool, _args(one)) if one.tool == wanted.tool else ()
    return one.tool == wanted.tool and (list(one.entity) in [[r.kind, r.id] for r in refs] or stated == refs)


def _wholly(contract: Contract, one: Obliged, wanted: Wanted) -> bool:
    return _about(contract, one, wanted) and _agrees(one, wanted)


def _agrees(one: Obliged, wanted: Wanted) -> bool:
    return all(
        name in wanted.args and same(value, jsontext.loads(jsontext.dumps(wanted.args[name])))
        for name, value in _args(one).items()
    )


def _args(one: Obliged) -> Mapping[str, Any]:
    return {name: jsontext.loads(text) for name, text in one.args}
