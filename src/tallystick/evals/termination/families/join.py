"""Join of two entities: an order, and the credit of the customer who placed it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from tallystick.evals.common.draw import Draw
from tallystick.evals.termination.family import Bindings, Call, Scenario, World, euros, ids, job, ready

NAME: Final = "join"
STATUS_TOOL: Final = "sync_status"
SUBJECT: Final = ("order_id", "order")


def draw(draw: Draw, number: int) -> Scenario:
    """Return a task: an order's total and instant, and what is left of its customer's credit."""
    orders, customers = ids(draw, "O", 2), ids(draw, "C", 2)
    rows = {
        order: {
            "id": order,
            "total": euros(draw, 50 + 1000 * i, 900 + 1000 * i),
            "placed": f"2026-{draw.between(1, 6) + 5 * i:02d}-{draw.between(1, 28):02d}T{draw.between(10, 19)}:15:00Z",
            "customer": customers[i],
        }
        for i, order in enumerate(orders)
    }
    credit = {
        customer: {
            "id": customer,
            "tier": ("premium", "basic")[i],
            "credit_limit": f"{draw.between(20, 40) * 100 + 5000 * i}.00",
            "credit_used": euros(draw, 100, 1900),
        }
        for i, customer in enumerate(customers)
    }
    return Scenario(
        request=f"For order {orders[0]} of {customers[0]}: its total, when it was placed, and the credit left.",
        bindings={"order": orders[0], "customer": customers[0]},
        elsewhere={"order": orders[1], "customer": customers[1]},
        shifted={"order": orders[1], "customer": customers[1]},
        world={"job": job(draw), "orders": rows, "customers": credit, "number": number},
    )


def act(bindings: Bindings, call: Call) -> None:
    """Do nothing: the task only asks."""


def read(bindings: Bindings, call: Call) -> None:
    """Read the order, then its customer."""
    order = call("get_order", {"order_id": bindings["order"]})
    call("get_customer", {"customer_id": order.get("order", {}).get("customer", bindings["customer"])})


def reply(world: World, tool: str, args: Mapping[str, Any]) -> Any:
    """Return the order or the customer."""
    if tool == "get_order":
        return {"order": dict(world["orders"][args["order_id"]])}
    assert tool == "get_customer"
    return {"customer": dict(world["customers"][args["customer_id"]])}


def truth(world: World, bindings: Bindings) -> dict[str, Any] | None:
    """Return both rows' values, once they are synchronised."""
    order, customer = world["orders"].get(bindings["order"]), world["customers"].get(bindings["customer"])
    if order is None or customer is None or not ready(world):
        return None
    left = Decimal(customer["credit_limit"]) - Decimal(customer["credit_used"])
    return {"total": f"{order['total']} EUR", "placed": order["placed"], "headroom": f"{left} EUR"}
