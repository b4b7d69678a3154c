"""Aggregation over pages: one supplier's invoices of a quarter."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from tallystick.evals.common.draw import Draw
from tallystick.evals.termination.family import Bindings, Call, Scenario, World, euros, ids, job, ready

NAME: Final = "pages"
STATUS_TOOL: Final = "export_status"
SUBJECT: Final = ("supplier_id", "supplier")
_PAGE: Final = 3
_QUARTERS: Final = (("2026-01-01", "2026-03-31"), ("2026-04-01", "2026-06-30"), ("2026-07-01", "2026-09-30"))


def draw(draw: Draw, number: int) -> Scenario:
    """Return a task: sum, count and numbers of a quarter's invoices, over two or three pages."""
    mine, other = ids(draw, "S", 2)
    this, before = draw.shuffled(_QUARTERS)[:2]
    sizes = {(mine, this): draw.between(4, 8), (mine, before): 3, (other, this): 9}
    numbers = iter(ids(draw, "INV", sum(sizes.values())))
    rows = [
        {
            "number": next(numbers),
            "supplier": supplier,
            "day": f"{quarter[0][:5]}{int(quarter[0][5:7]) + draw.between(0, 2):02d}-{draw.between(1, 28):02d}",
            "amount": euros(draw, 40, 900),
        }
        for (supplier, quarter), size in sizes.items()
        for _ in range(size)
    ]
    asked = {"supplier": mine, "since": this[0], "until": this[1]}
    return Scenario(
        request=f"Add up the invoices of supplier {mine} from {this[0]} to {this[1]}: total, how many, and which.",
        bindings=asked,
        elsewhere={**asked, "supplier": other},
        shifted={**asked, "since": before[0], "until": before[1]},
        world={"job": job(draw), "invoices": rows, "number": number},
    )


def act(bindings: Bindings, call: Call) -> None:
    """Do nothing: the task only asks."""


def read(bindings: Bindings, call: Call) -> None:
    """Read every page."""
    page: int | None = 1
    while page is not None:
        asked = {"supplier_id": bindings["supplier"], "since": bindings["since"], "until": bindings["until"]}
        page = call("list_invoices", {**asked, "page": page})["next_page"]


def reply(world: World, tool: str, args: Mapping[str, Any]) -> Any:
    """Return one page of the invoices asked for."""
    assert tool == "list_invoices"
    rows = _rows(world, args["supplier_id"], args["since"], args["until"])
    start = (args["page"] - 1) * _PAGE
    return {
        "invoices": [
            {"number": r["number"], "day": r["day"], "amount": r["amount"]} for r in rows[start : start + _PAGE]
        ],
        "next_page": args["page"] + 1 if start + _PAGE < len(rows) else None,
    }


def truth(world: World, bindings: Bindings) -> dict[str, Any] | None:
    """Return sum, count and numbers from the table, once the export is over."""
    if not ready(world):
        return None
    rows = _rows(world, bindings["supplier"], bindings["since"], bindings["until"])
    total = sum((Decimal(r["amount"]) for r in rows), Decimal(0))
    return {"total": f"{total} EUR", "invoices": str(len(rows)), "numbers": sorted(r["number"] for r in rows)}


def _rows(world: World, supplier: str, since: str, until: str) -> list[dict[str, Any]]:
    return [r for r in world["invoices"] if r["supplier"] == supplier and since <= r["day"] <= until]
