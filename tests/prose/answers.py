"""Worlds of two parcels, answers about one of them written in every way people write values, and a naive twin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from tallystick import Guard, Run
from tallystick.contracts import parse

CONTRACT = parse("""
contract: parcels/1
entities:
  parcel: {id: id, fee: money(EUR), insured_for: money(EUR), weight: quantity(kg), pieces: integer, due: date,
           sent: instant, state: string, label: id}
tools:
  look:
    effect: read
    args: {parcel: id}
    target: parcel(args.parcel)
    yields: {parcel: {id: /id, fee: /fee, insured_for: /insured_for, weight: /weight, pieces: /pieces, due: /due,
                      sent: /sent, state: /state, label: /label}}
task:
  inputs: {parcel: id}
  answer:
    - {slot: fee, type: money(EUR), scope: parcel, derive: look./fee}
    - {slot: weight, type: quantity(kg), scope: parcel, derive: look./weight}
    - {slot: pieces, type: integer, scope: parcel, derive: look./pieces}
    - {slot: due, type: date, scope: parcel, derive: look./due}
    - {slot: state, type: string, scope: parcel, derive: look./state}
    - {slot: label, type: id, scope: parcel, derive: look./label}
""")
STATES = ("in_transit", "delivered", "returned", "lost")
SLOTS = ("fee", "weight", "pieces", "due", "state", "label")


@dataclass(frozen=True)
class Parcel:
    """What the record says of one parcel."""

    id: str
    fee: Decimal
    insured_for: Decimal
    weight: Decimal
    pieces: int
    due: date
    sent: datetime
    state: str
    label: str

    def json(self) -> dict[str, Any]:
        return {
            "id": self.id, "fee": str(self.fee), "insured_for": str(self.insured_for), "weight": str(self.weight),
            "pieces": self.pieces, "due": self.due.isoformat(), "sent": self.sent.isoformat(), "state": self.state,
            "label": self.label,
        }  # fmt: skip


def _cents(low: int, high: int) -> st.SearchStrategy[Decimal]:
    return st.integers(low, high).map(lambda n: Decimal(n).scaleb(-2))


@st.composite
def parcels(draw: st.DrawFn) -> tuple[Parcel, Parcel]:
    """Two parcels that differ in everything."""
    fees = draw(st.lists(_cents(100, 999_999_99), min_size=4, max_size=4, unique=True))
    weights = draw(st.lists(_cents(1, 99_999), min_size=2, max_size=2, unique=True))
    pieces = draw(st.lists(st.integers(2, 400), min_size=2, max_size=2, unique=True))
    days = draw(st.lists(st.dates(date(2020, 1, 1), date(2029, 12, 31)), min_size=2, max_size=2, unique=True))
    states = draw(st.permutations(STATES))
    return tuple(  # type: ignore[return-value]  # two of them
        Parcel(
            id=f"P-{71 + n}", fee=fees[n], insured_for=fees[2 + n], weight=weights[n], pieces=pieces[n], due=days[n],
            sent=datetime(2026, 3, 11, tzinfo=UTC) + timedelta(minutes=n), state=states[n], label=f"LB{9001 + n}",
        )
        for n in (0, 1)
    )  # fmt: skip


def run_over(*seen: Parcel, about: str = "P-71", contract: Any = CONTRACT, **options: Any) -> Run:
    """A run about one parcel that has looked at these, in this order."""
    run = Guard(contract, **options).run({"bindings": {"parcel": about}})
    by_id = {p.id: p.json() for p in seen}
    for parcel in seen:
        run.call("look", {"parcel": parcel.id}, lambda parcel: by_id[parcel])
    return run


# ---------------------------------------------------------------- ways to write a value


def money(value: Decimal) -> list[str]:
    """Ways people write an amount of euros; each means exactly this one."""
    found = [f"{value} EUR", f"EUR {value}", f"€{value}", f"{value:,f} EUR", f"**€{value:,f}**"]
    if value == value.to_integral_value():
        found += [f"{value.to_integral_value()} euros", f"€{value.to_integral_value():,f}"]
    return found


def weight(value: Decimal) -> list[str]:
    return [f"{value} kg", f"{value}kg", f"{value.normalize():f} kg", f"{value} kilograms"]


def day(value: date) -> list[str]:
    return [
        value.isoformat(), f"{value:%B} {value.day}, {value.year}", f"{value.day} {value:%B} {value.year}",
        f"{value:%b} {value.day}, {value.year}", f"{value:%A}, {value:%B} {value.day}, {value.year}",
    ]  # fmt: skip


def ways(slot: str, value: Any) -> list[str]:
    """Ways to write the value of a slot."""
    if slot == "fee":
        return money(value)
    if slot == "weight":
        return weight(value)
    if slot == "due":
        return day(value)
    if slot == "pieces":
        return [f"{value} pieces", f"{value:,} pieces"]
    if slot == "state":
        return [value, value.replace("_", " "), value.replace("_", "-"), f"`{value}`"]
    return [value, f"`{value}`"]


def sentence(slot: str, value: str, parcel: str) -> list[str]:
    """Ways to say it of a parcel."""
    named = {
        "fee": [f"The fee for {parcel} is {value}.", f"Fee ({parcel}): {value}", f"{parcel}: a fee of {value}"],
        "weight": [f"Parcel {parcel} weighs {value}.", f"- weight of {parcel}: {value}"],
        "pieces": [f"{parcel} has {value}.", f"There are {value} in parcel {parcel}."],
        "due": [f"It is due on {value}, {parcel} that is.", f"{parcel} is due {value}."],
        "state": [f"The state of {parcel} is {value}.", f"{parcel} is {value}."],
        "label": [f"Its label is {value} (parcel {parcel}).", f"{parcel} has label {value}."],
    }
    return named[slot]


@st.composite
def answers(draw: st.DrawFn, values: Mapping[str, Any], parcel: str) -> str:
    """An answer that states these values of this parcel, in any order and any way."""
    order = draw(st.permutations(SLOTS))
    said = []
    for slot in order:
        written = draw(st.sampled_from(ways(slot, values[slot])))
        said.append(draw(st.sampled_from(sentence(slot, written, parcel))))
    return draw(st.sampled_from(["Done.", "All is well.", "Here is what I found:"])) + "\n" + "\n".join(said)


def values_of(parcel: Parcel) -> dict[str, Any]:
    return {slot: getattr(parcel, slot) for slot in SLOTS}
