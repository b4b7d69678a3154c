"""The invoice desk: its tools, its faults one by one, and the truth read from its database."""

from __future__ import annotations

import json
import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest

from tallystick.demo.desk import ALL_FAULTS, Desk, Faults, Truth, faults_of
from tallystick.demo.schemas import SCHEMAS
from tallystick.errors import InputError


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk.create(tmp_path / "desk.db")


def with_faults(tmp_path: Path, **faults: bool) -> Desk:
    return Desk.create(tmp_path / "faulty.db", Faults(**faults))


def test_paying_once_and_sending_the_receipt_is_what_the_truth_says(desk: Desk) -> None:
    assert desk.get_invoice("I-7")["amount_due"] == "420.00"
    paid = desk.pay_invoice("I-7", "420.00")
    assert paid["status"] == "paid"
    assert paid["amount"] == "420.00"
    sent = desk.send_receipt("I-7", paid["receipt_file"])
    assert sent["status"] == "sent"
    assert desk.delivery_status("I-7")["delivered"] is True
    assert desk.truth("I-7") == Truth(paid=Decimal("420.00"), payments=1, deliveries=1, seen_first=True)


def test_nothing_prevents_paying_twice(desk: Desk) -> None:
    first, second = desk.pay_invoice("I-7", "420.00"), desk.pay_invoice("I-7", "420.00")
    assert first["payment_id"] != second["payment_id"]
    assert desk.truth("I-7").paid == Decimal("840.00")
    assert desk.payments("I-7")["total"] == "840.00"
    assert desk.truth("I-7").seen_first is False


def test_an_unpaid_invoice_has_no_seen_first(desk: Desk) -> None:
    desk.get_invoice("I-7")
    assert desk.truth("I-7").seen_first is None


@pytest.mark.parametrize("amount", [420.0, "0", "-1.00", "1.005", "1,5", "NaN", "1e3", None, True, 10**20])
def test_what_is_no_exact_amount_is_refused_and_nothing_is_paid(desk: Desk, amount: object) -> None:
    assert "error" in desk.pay_invoice("I-7", amount)
    assert desk.truth("I-7").payments == 0


@pytest.mark.parametrize("amount", ["420", "420.00", 420, Decimal("420.0")])
def test_equal_amounts_are_booked_as_the_same_cents(desk: Desk, amount: object) -> None:
    assert desk.pay_invoice("I-7", amount)["amount"] == "420.00"


def test_a_part_payment_is_not_paid(desk: Desk) -> None:
    desk.pay_invoice("I-7", "100.00")
    assert desk.get_invoice("I-7")["status"] == "part-paid"


def test_unknown_invoices_and_foreign_receipts_are_errors(desk: Desk) -> None:
    assert "error" in desk.get_invoice("I-99")
    assert "error" in desk.pay_invoice("I-99", "1.00")
    assert "error" in desk.send_receipt("I-7", "receipt-P-1.pdf")  # of I-1
    assert "error" in desk.list_invoices(0)


def test_without_the_fault_the_list_is_one_page(desk: Desk) -> None:
    whole = desk.list_invoices()
    assert whole["next_page"] is None
    assert "I-7" in [i["id"] for i in whole["invoices"]]


def test_fault_second_page_puts_the_invoice_on_page_two(tmp_path: Path) -> None:
    desk = with_faults(tmp_path, second_page=True)
    first = desk.list_invoices()
    second = desk.list_invoices(first["next_page"])
    assert "I-7" not in [i["id"] for i in first["invoices"]]
    assert "I-7" in [i["id"] for i in second["invoices"]]
    assert second["next_page"] is None


def test_fault_timeout_commits_the_payment_and_strikes_once(tmp_path: Path) -> None:
    desk = with_faults(tmp_path, timeout=True)
    with pytest.raises(TimeoutError):
        desk.pay_invoice("I-7", "420.00")
    assert desk.truth("I-7").paid == Decimal("420.00")
    assert Desk(desk.path).pay_invoice("I-7", "420.00")["status"] == "paid"  # also after reopening


def test_fault_nested_error_delivers_nothing_under_ok_true(tmp_path: Path) -> None:
    desk = with_faults(tmp_path, nested_error=True)
    file = desk.pay_invoice("I-7", "420.00")["receipt_file"]
    answer = desk.send_receipt("I-7", file)
    assert answer["ok"] is True
    assert "error" in answer["result"]
    assert desk.truth("I-7").deliveries == 0
    assert desk.send_receipt("I-7", file)["status"] == "sent"


def test_fault_stale_read_answers_once_from_before_the_write(tmp_path: Path) -> None:
    desk = with_faults(tmp_path, stale_read=True)
    desk.pay_invoice("I-7", "420.00")
    assert desk.get_invoice("I-7")["status"] == "open"
    assert desk.payments("I-7")["count"] == 1  # the books are never stale
    assert desk.get_invoice("I-7")["status"] == "paid"


def test_no_amount_is_stored_or_shown_as_a_float(tmp_path: Path) -> None:
    desk = Desk.create(tmp_path / "desk.db", ALL_FAULTS)
    with pytest.raises(TimeoutError):
        desk.pay_invoice("I-7", "420.00")
    desk.list_invoices()
    desk.get_invoice("I-7")
    desk.payments("I-7")
    seen: list[str] = []
    for row in sqlite3.connect(desk.path).execute("SELECT answer FROM access"):
        json.loads(row[0], parse_float=seen.append)
    assert seen == []


def test_every_tool_has_a_schema_with_its_own_parameters(desk: Desk) -> None:
    assert [s["function"]["name"] for s in SCHEMAS] == list(desk.tools())


def test_faults_are_named_or_refused() -> None:
    assert faults_of("all") == ALL_FAULTS
    assert faults_of("none") == Faults()
    assert faults_of(" nested-error, timeout") == Faults(nested_error=True, timeout=True)
    with pytest.raises(InputError, match="no fault `tiemout`"):
        faults_of("tiemout")


def test_a_desk_is_never_made_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "there.db").write_text("precious")
    with pytest.raises(InputError, match="exists"):
        Desk.create(tmp_path / "there.db")
    assert (tmp_path / "there.db").read_text() == "precious"
    with pytest.raises(InputError, match="folder"):
        Desk.create(tmp_path / "nowhere" / "desk.db")
    with pytest.raises(InputError, match="no desk"):
        Desk(tmp_path / "missing.db").list_invoices()
    assert not (tmp_path / "missing.db").exists()
