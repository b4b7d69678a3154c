"""The environment of one trajectory: a family's world behind tools that really answer, and what was asked of it.

Also the judge of support: it reads the world's tables and the log of what the tools answered, and shares no code with
contracts, derivations or the verifier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final

from tallystick.evals.termination.closed.clusters import Cluster
from tallystick.evals.termination.family import answered
from tallystick.evals.termination.stated import stated
from tallystick.model import jsontext
from tallystick.model.values import Type

ERROR: Final[Mapping[str, Any]] = {
    "status": "ok",
    "payload": {"data": None, "error": {"code": "UPSTREAM_TIMEOUT", "message": "no answer in 30 s"}},
}
"""What a broken read answers: an error beneath transport success."""


class Desk:
    """One cluster's world, live.

    Attributes:
        log: (tool, arguments as JSON text, result as JSON text) of every call that ran, in order.
        broken: reads answer `ERROR` while this is set.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.world = deepcopy(cluster.scenario.world)
        self.log: list[tuple[str, str, str]] = []
        self.broken = False

    def tools(self) -> dict[str, Callable[..., Any]]:
        """Return the callables a guard runs."""
        return {name: self._tool(name) for name in self.cluster.contract.tools}

    def _tool(self, name: str) -> Callable[..., Any]:
        def run(**args: Any) -> Any:
            result = answered(self.cluster.family, self.world, name, args)
            if self.broken and name != self.cluster.family.STATUS_TOOL and not self._writes(name):
                result = deepcopy(dict(ERROR))
            self.log.append((name, jsontext.dumps(args), jsontext.dumps(result)))
            return result

        run.__name__ = name
        return run

    def _writes(self, name: str) -> bool:
        return self.cluster.contract.tools[name].effect == "write"

    # ------------------------------------------------------------------ the judge

    def truth(self) -> dict[str, Any] | None:
        """Return slot → value as the world's tables give it, or None where what is asked for was not done."""
        world = deepcopy(self.world)
        world["job"]["state"] = "ready"  # what is right does not depend on whether the job was waited for
        found = self.cluster.family.truth(world, self.cluster.scenario.bindings)
        if found is None:
            return None
        return {slot.name: as_json(slot.type, found[slot.name]) for slot in self.cluster.contract.answer}

    def evidence(self) -> bool:
        """Return whether the log holds every read the answer rests on, with the result the world gives to it now."""
        world = deepcopy(self.world)
        needed: list[tuple[str, str, str]] = []

        def ask(tool: str, args: Mapping[str, Any]) -> Any:
            result = answered(self.cluster.family, world, tool, args)
            needed.append((tool, jsontext.dumps(args), jsontext.dumps(result)))
            return result

        self.cluster.family.read(self.cluster.scenario.bindings, ask)
        made = {(tool, _sorted(args), result) for tool, args, result in self.log}
        return all((tool, _sorted(args), result) in made for tool, args, result in needed)

    def right(self, answer: Mapping[str, Any]) -> bool:
        """Return whether an answer states every slot's value as the world's tables give it."""
        truth = self.truth()
        if truth is None:
            return False
        try:
            return all(
                slot.name in answer and stated(slot.type, answer[slot.name]) == stated(slot.type, truth[slot.name])
                for slot in self.cluster.contract.answer
            )
        except ValueError:
            return False

    def supported(self, answer: Mapping[str, Any]) -> bool:
        """Return whether an end with this answer is a supported completion."""
        return self.right(answer) and self.evidence()


def as_json(type_: Type, value: Any) -> Any:
    """Return a value in lexical form as an agent states it to a finish tool: whole numbers are JSON numbers."""
    if type_.name == "integer":
        return int(value)
    if type_.name in ("list", "set") and type_.item is not None:
        return [as_json(type_.item, item) for item in value]
    if type_.name == "record":
        return {name: as_json(kind, value[name]) for name, kind in type_.fields.items()}
    return value


def _sorted(text: str) -> str:
    return jsontext.dumps(dict(sorted(jsontext.loads(text).items())))
