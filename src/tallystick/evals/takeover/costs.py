"""What an episode costs: tokens by role and phase, prices of a dated table, and the cost beside the strong anchor.

Cost is cache-neutral: tokens a provider's cache served are charged as others are. The user simulator and the evaluator
are not the agent's and are left out. Amounts are `Decimal`. Source: residual completion, section 4, metrics and cost.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, get_args

import msgspec
import yaml

from tallystick.errors import InputError
from tallystick.model.values import decimal_of

Phase = Literal["prefix", "rscc", "residual"]
"""prefix: the cheap model up to the frontier, or a whole task by one model · rscc: making the contract · residual:
authoring, and whatever is asked until the tenure is over (ERC and CE)."""
PHASES: Final[tuple[Phase, ...]] = get_args(Phase)
Role = Literal["agent", "user_simulator", "evaluator"]
_MONEY: Final = ("input", "output")


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one request, as the endpoint counted them.

    Attributes:
        model: as the price table names it.
        phase: what it was for.
        role: who asked; only the agent's requests cost.
        input, output: tokens; input includes what a cache served.
    """

    model: str
    phase: Phase
    input: int
    output: int
    role: Role = "agent"


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """USD for a million tokens."""

    input: Decimal
    output: Decimal
    stand_in: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """A dated price table.

    Attributes:
        date: when the prices were these, ISO 8601.
        models: price by model.
    """

    date: str
    models: Mapping[str, Price]

    def of(self, usage: Usage) -> Decimal | None:
        """Return what a request costs, None where the model has no price."""
        price = self.models.get(usage.model)
        if price is None:
            return None
        return (price.input * usage.input + price.output * usage.output) / 1_000_000

    def stand_in(self, usages: Iterable[Usage]) -> bool:
        """Whether a price among them is a stand-in and not a provider's."""
        return any((p := self.models.get(u.model)) is not None and p.stand_in for u in usages)


@cache
def prices(path: Path | None = None) -> Prices:
    """Return a price table: the shipped one, or a file of the same form.

    Raises:
        InputError: the file cannot be read, or is no price table.
    """
    where = str(path) if path is not None else "prices.yaml"
    try:
        text = (
            path.read_text(encoding="utf-8")
            if path is not None
            else importlib.resources.files(__package__).joinpath("prices.yaml").read_text(encoding="utf-8")
        )
        found = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - BaseLoader makes texts only, so no amount is a float
    except (OSError, UnicodeError) as bad:
        raise InputError(f"cannot be read: {getattr(bad, 'strerror', None) or bad}", where=where) from None
    except yaml.YAMLError as bad:
        raise InputError(f"not YAML: {str(bad).splitlines()[0]}", where=where) from None
    if not isinstance(found, dict) or not isinstance(found.get("models"), dict) or not found.get("date"):
        raise InputError("not a price table", where=where, fix="`date`, and `models` with `input` and `output` each")
    if found.get("per", "1000000") != "1000000" or found.get("currency", "USD") != "USD":
        raise InputError("prices are USD for a million tokens", where=where, fix="`currency: USD`, `per: 1000000`")
    return Prices(
        date=str(found["date"]), models={name: _price(one, f"{where}: {name}") for name, one in found["models"].items()}
    )


def _price(one: Any, where: str) -> Price:
    if not isinstance(one, dict) or not set(_MONEY) <= set(one):
        raise InputError("a price lacks `input` or `output`", where=where)
    try:
        amounts = [decimal_of(one[name]) for name in _MONEY]
    except ValueError as bad:
        raise InputError(str(bad), where=where) from None
    if min(amounts) < 0:
        raise InputError("a price is below 0", where=where)
    return Price(input=amounts[0], output=amounts[1], stand_in=one.get("stand_in") == "true")


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What a method's episodes cost on one surface.

    Attributes:
        total: USD; None where a model has no price.
        split: by phase, None as above.
        tokens: input and output by phase.
        stand_in: a price is a stand-in, not a provider's.
        unpriced: models without a price.
    """

    total: Decimal | None
    split: dict[str, Decimal | None]
    tokens: dict[str, tuple[int, int]]
    stand_in: bool = False
    unpriced: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; amounts as decimal text."""
        return {
            "usd": _text(self.total),
            "split": {name: _text(one) for name, one in self.split.items()},
            "tokens": {name: {"input": i, "output": o} for name, (i, o) in self.tokens.items()},
            "stand_in": self.stand_in,
            "unpriced": list(self.unpriced),
        }


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:.6f}"


def cost_of(usages: Iterable[Usage], table: Prices) -> Cost:
    """Return what requests cost, split into cheap prefix, contract construction, and the residual."""
    own = [u for u in usages if u.role == "agent"]
    unpriced = tuple(dict.fromkeys(u.model for u in own if u.model not in table.models))

    def spent(some: list[Usage]) -> Decimal | None:
        amounts = [table.of(u) for u in some]
        return None if None in amounts else sum((a for a in amounts if a is not None), Decimal(0))

    by = {phase: [u for u in own if u.phase == phase] for phase in PHASES}
    return Cost(
        total=spent(own), split={phase: spent(some) for phase, some in by.items()},
        tokens={phase: (sum(u.input for u in some), sum(u.output for u in some)) for phase, some in by.items()},
        stand_in=table.stand_in(own), unpriced=unpriced,
    )  # fmt: skip


def cost_percent(ours: Mapping[str, Decimal | None], anchor: Mapping[str, Decimal | None]) -> float | None:
    """Return the unweighted mean, in percent, of a method's costs beside the strong anchor's, surface by surface.

    Surfaces the method was not run on are left out, and so are those whose anchor has no cost. None where none is left.
    Source: table 1, "the mean per-surface ratio to that anchor".
    """
    ratios = [
        cost / beside
        for name, cost in ours.items()
        if cost is not None and (beside := anchor.get(name)) is not None and beside > 0
    ]
    return None if not ratios else float(100 * sum(ratios, Decimal(0)) / len(ratios))


def macro_gap(ours: Mapping[str, float], anchor: Mapping[str, float]) -> float | None:
    """Return the difference of mean scores, in points, over the surfaces the method was run on."""
    shared = [name for name in ours if name in anchor]
    if not shared:
        return None
    return sum(ours[name] - anchor[name] for name in shared) / len(shared)
