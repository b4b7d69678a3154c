"""A small checkout of the shape of STATE-Bench's, written by a test: a travel desk of our own, and conversations in it.

Nothing of the benchmark is in here but its layout and the names it gives its modules, classes and tools. The desk has
the one habit that matters: `update_booking` changes the flight before it checks the rest of the call, so that an error
of it says nothing of the state.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ENVIRONMENT = """
import copy


class TravelEnvironment:
    def __init__(self, data, now):
        self.data = copy.deepcopy(data.tables)
        self.now = now

    @property
    def tool_handlers(self):
        return {name: getattr(self, name) for name in
                ("get_booking", "get_user_reservations", "search_flights", "update_booking", "cancel_booking")}

    def get_full_snapshot(self):
        return {"bookings": self.data["bookings"]}

    def get_user_reservations(self, params):
        mine = [k for k, b in self.data["bookings"].items() if b["user_id"] == params["user_id"]]
        return {"user_id": params["user_id"], "booking_ids": mine}

    def get_booking(self, params):
        found = self.data["bookings"].get(params["booking_id"])
        return dict(found) if found else {"error": "no such booking"}

    def search_flights(self, params):
        return {"flights": [dict(f) for f in self.data["flights"].values()]}

    def update_booking(self, params):
        booking = self.data["bookings"].get(params["booking_id"])
        if booking is None:
            return {"error": "no such booking"}
        changed = params.get("flight_id", booking["flight_id"]) != booking["flight_id"]
        if changed and params.get("confirm") is False:
            return {"status": "preview", "booking_id": booking["booking_id"], "change_fee": 0, "fare_difference": 0,
                    "price_paid": booking["price_paid"]}
        booking["flight_id"] = params.get("flight_id", booking["flight_id"])
        if params.get("delay_compensation") not in (None, "none"):
            return {"error": "the flight is not delayed"}
        return {"status": "updated", "booking_id": booking["booking_id"],
                "changes_applied": ["flight_id"] if changed else [], "price_paid": booking["price_paid"]}

    def cancel_booking(self, params):
        booking = self.data["bookings"].get(params["booking_id"])
        if booking is None:
            return {"error": "no such booking"}
        if booking["status"] == "cancelled":
            return {"status": "rejected", "reason": "cancelled already"}
        answer = {"booking_id": booking["booking_id"], "cancellation_fee": 0, "refund_amount": booking["price_paid"]}
        if params.get("confirm") is not True:
            return {"status": "preview", **answer}
        booking["status"] = "cancelled"
        return {"status": "cancelled", **answer}
"""
DATA = """
import json


class EnvironmentData:
    def __init__(self, tables):
        self.tables = tables

    @classmethod
    def load(cls, path):
        with open(path) as file:
            return cls(json.load(file))

    def deep_copy(self):
        return EnvironmentData(json.loads(json.dumps(self.tables)))
"""
SCHEMAS = """
class TaskDefinition:
    def __init__(self, needs):
        self.needs = needs

    @classmethod
    def from_dict(cls, value):
        return cls(value["state_requirements"])


class StateDiff(dict):
    @classmethod
    def compute(cls, before, after):
        return cls({
            (kind, key, name): record[name]
            for kind, records in after.items() for key, record in records.items() for name in record
            if before[kind][key][name] != record[name]
        })
"""
SCORING = """
class Score:
    def __init__(self, score):
        self.score = score


def evaluate_state_requirements(task, diff):
    wanted = {(n["entity_type"], n["record_key"], n["field"]): n["expected_value"] for n in task.needs}
    return Score(int(dict(diff) == wanted))
"""
TOOLS = "TOOL_SCHEMAS = " + json.dumps([
    {"name": "get_booking", "parameters": {"type": "object", "properties": {"booking_id": {"type": "string"}},
                                           "required": ["booking_id"]}},
    {"name": "cancel_booking", "parameters": {
        "type": "object", "properties": {"booking_id": {"type": "string"}, "confirm": {"type": "boolean"}},
        "required": ["booking_id"]}},
]).replace("true", "True").replace("false", "False")  # fmt: skip

USER = "user_1"
NOW = "2026-06-15T10:00:00"


def database() -> dict[str, Any]:
    """Return the desk's tables: three bookings of one customer, and two flights."""
    booking = {
        "user_id": USER, "status": "confirmed", "cabin_class": "economy", "seat_type": "aisle", "price_paid": 100,
        "meal_preference": "standard", "add_wifi": False, "add_extra_legroom": False, "add_insurance": False,
        "paid_checked_bags": 0, "delay_compensation": None,
    }  # fmt: skip
    prices = {"economy": 100}
    return {
        "bookings": {
            key: {"booking_id": key, "flight_id": flight, **booking}
            for key, flight in (("BK-1", "AA100"), ("BK-2", "AA200"), ("BK-3", "AA300"))
        },
        "flights": {
            key: {"flight_id": key, "status": "scheduled", "cabin_prices": prices, "route_type": "domestic"}
            for key in ("AA100", "AA101", "AA200", "AA300")
        },
    }


def cancelled(*keys: str) -> list[dict[str, Any]]:
    """Return the requirements that these bookings end cancelled."""
    return [need(key, "status", "cancelled") for key in keys]


def need(key: str, field: str, value: Any) -> dict[str, Any]:
    """Return one requirement of a booking's field."""
    return {"entity_type": "bookings", "record_key": key, "field": field, "expected_value": value}


READ = [("get_user_reservations", {"user_id": USER}), *(("get_booking", {"booking_id": f"BK-{n}"}) for n in (1, 2, 3))]
PREVIEWS = [("cancel_booking", {"booking_id": f"BK-{n}", "confirm": False}) for n in (1, 2)]
FIRST = ("cancel_booking", {"booking_id": "BK-1", "confirm": True})
SECOND = ("cancel_booking", {"booking_id": "BK-2", "confirm": True})
CHANGE = {"booking_id": "BK-1", "flight_id": "AA101", "delay_compensation": "full"}
EPISODES: dict[str, tuple[list[Any], list[dict[str, Any]]]] = {
    "1-two_cancelled": (
        ["Cancel BK-1 and BK-2.", [*READ, *PREVIEWS], "It is free. Shall I?", "Yes.", [FIRST, SECOND], "Both are off."],
        cancelled("BK-1", "BK-2"),
    ),
    "2-one_forgotten": (
        ["Cancel BK-1 and BK-2.", [*READ, *PREVIEWS], "Free of charge. Shall I?", "Yes.", [FIRST], "Both are off."],
        cancelled("BK-1", "BK-2"),
    ),
    "3-error_that_changed": (
        ["Move BK-1 to AA101, cancel BK-2.", [*READ, ("search_flights", {}), *PREVIEWS, SECOND,
         ("update_booking", CHANGE)], "The change did not work."],
        [*cancelled("BK-2"), need("BK-1", "flight_id", "AA101"), need("BK-3", "status", "cancelled")],
    ),
    "4-success_that_did_nothing": (
        ["Move BK-1 to AA101, cancel BK-2.", [*READ, ("search_flights", {}), *PREVIEWS,
         ("update_booking", CHANGE), ("update_booking", {**CHANGE, "delay_compensation": "none"}), SECOND], "Done."],
        [*cancelled("BK-2"), need("BK-1", "flight_id", "AA101")],
    ),
    "5-wrong_flight": (
        ["Move BK-1 to AA200, cancel BK-2.", [*READ, ("search_flights", {}), *PREVIEWS, SECOND,
         ("update_booking", {"booking_id": "BK-1", "flight_id": "AA300"})], "Done."],
        [*cancelled("BK-2"), need("BK-1", "flight_id", "AA200")],
    ),
    "6-answer_on_the_way": (
        ["Cancel BK-1.", [*READ, *PREVIEWS], "Shall I?", "Yes.", [FIRST], "It is off.", "Cancel BK-2 as well, please.",
         [SECOND], "It is off.", "And BK-3.", [("cancel_booking", {"booking_id": "BK-3", "confirm": True})], "Off."],
        cancelled("BK-1", "BK-2", "BK-3"),
    ),
}  # fmt: skip


def written(root: Path, *, note: str = "") -> Path:
    """Write the checkout and return its folder; `note` makes it another version of the simulator."""
    package = root / "state_bench"
    domain = package / "domains" / "travel"
    for folder in (domain / "tasks", domain / "task_envs", root / "datasets" / "train_task_trajectories" / "travel"):
        folder.mkdir(parents=True)
    for folder in (package, package / "domains", domain):
        (folder / "__init__.py").write_text("")
    (domain / "environment.py").write_text(f"NOTE = {note!r}\n{ENVIRONMENT}")
    (domain / "schemas.py").write_text(DATA)
    (domain / "tools.py").write_text(TOOLS)
    (package / "schemas.py").write_text(SCHEMAS)
    (package / "scoring.py").write_text(SCORING)
    for name, (turns, needs) in EPISODES.items():
        (domain / "task_envs" / f"{name}.json").write_text(json.dumps(database()))
        (domain / "tasks" / f"{name}.json").write_text(json.dumps({
            "opening_message": turns[0], "user_id": USER, "now": NOW, "task_summary": "the answer key",
            "state_requirements": needs,
        }))  # fmt: skip
        conversation = list(_conversation(turns, _environment(domain)))
        path = root / "datasets" / "train_task_trajectories" / "travel" / f"{name}.json"
        path.write_text(json.dumps({"conversation": conversation}))
    return root


def recordings(checkout: Path, root: Path) -> Path:
    """Write the same conversations as a folder of recordings, with labels and without a simulator."""
    domain = checkout / "state_bench" / "domains" / "travel"
    lines = []
    for name, (_, needs) in EPISODES.items():
        for kind, source in (
            ("trajectories", checkout / "datasets" / "train_task_trajectories" / "travel"),
            ("tasks", domain / "tasks"),
        ):
            folder = root / kind / "travel"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.json").write_bytes((source / f"{name}.json").read_bytes())
        conversation = json.loads((root / "trajectories" / "travel" / f"{name}.json").read_text())["conversation"]
        environment = _environment(domain)
        writes = []
        for message, said in enumerate(conversation):
            for at, call in enumerate(said.get("tool_calls", ())):
                before = json.dumps(environment.get_full_snapshot())
                environment.tool_handlers[call["name"]](call["arguments"])
                changed = json.dumps(environment.get_full_snapshot()) != before
                if call["name"] in ("update_booking", "cancel_booking"):
                    writes.append({"message": message, "call": at, "tool": call["name"], "changed_state": changed})
        now = environment.get_full_snapshot()
        right = all(now[n["entity_type"]][n["record_key"]][n["field"]] == n["expected_value"] for n in needs)
        lines.append(json.dumps({"domain": "travel", "trajectory": name, "state_ok": right, "writes": writes}))
    (root / "labels.jsonl").write_text("\n".join(lines))
    return root


def _conversation(turns: list[Any], environment: Any) -> Iterator[dict[str, Any]]:
    yield {"role": "system", "content": f"You are helping customer {USER}."}
    waiting: list[dict[str, Any]] = []
    role = "user"
    for turn in turns:
        if isinstance(turn, list):
            waiting = [
                {"name": name, "arguments": args, "result": environment.tool_handlers[name](args)}
                for name, args in turn
            ]
            continue
        message: dict[str, Any] = {"role": role, "content": turn}
        if waiting:
            message["tool_calls"], waiting = waiting, []
        yield message
        role = "assistant" if role == "user" else "user"


def _environment(domain: Path) -> Any:
    """Return the desk, loaded by path so that nothing is left in `sys.modules`."""
    loaded = []
    for name in ("environment", "schemas"):
        spec = importlib.util.spec_from_file_location(f"_desk_{name}", domain / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        loaded.append(module)
    assert "state_bench" not in sys.modules
    return loaded[0].TravelEnvironment(loaded[1].EnvironmentData(database()), now=NOW)
