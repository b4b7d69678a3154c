"""A person approves, from another process, a call that an agent made through the gateway."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.gateway.process import SERVER, TALLYSTICK, LineClient, Place

CONTRACT = """\
contract: approved-desk/1
tools:
  get_invoice: {effect: read, args: {invoice_id: id}}
  pay_invoice:
    effect: write
    args: {invoice_id: id, amount: money(EUR)}
    once_per: args.invoice_id
    needs_approval: finance
    ok: result.status == "paid"
"""
PAY = {"invoice_id": "I-7", "amount": "420.00"}


def test_a_call_that_waits_for_approval_runs_once_it_was_approved(tmp_path: Path) -> None:
    place = Place(tmp_path)
    key = tmp_path / "finance.pem"
    made = subprocess.run([*TALLYSTICK, "keygen", str(key)], capture_output=True, text=True, check=True)
    (public,) = re.findall(r"\b[0-9a-f]{64}\b", made.stdout)  # what a task file takes, as it is printed
    contract, task = tmp_path / "contract.yaml", tmp_path / "principals.json"
    contract.write_text(CONTRACT, encoding="utf-8")
    people = [{"id": "kim", "role": "finance", "public_key": public}]
    task.write_text(json.dumps({"principals": people}), encoding="utf-8")
    client = LineClient(
        [*TALLYSTICK, "gateway", "--contract", str(contract), "--ledger", str(place.ledger), "--task", str(task), "--",
         sys.executable, str(SERVER), str(place.desk.path)]
    )  # fmt: skip
    held = client.call("pay_invoice", PAY)["result"]
    assert "approval.missing" in held["content"][0]["text"]
    status = client.call("tallystick_status")["result"]["structuredContent"]
    assert [w["tool"] for w in status["waiting_for_approval"]] == ["pay_invoice"]
    approve = [*TALLYSTICK, "approve", str(place.ledger)]
    listed = subprocess.run([*approve, "--json"], capture_output=True, text=True, check=True)
    (waiting,) = json.loads(listed.stdout)["pending"]
    subprocess.run(
        [*approve, str(waiting["number"]), "--key", str(key), "--as", "kim"], capture_output=True, check=True
    )
    assert json.loads(client.call("pay_invoice", PAY)["result"]["content"][0]["text"])["status"] == "paid"
    again = client.call("pay_invoice", PAY)["result"]
    assert again["_meta"]["tallystick/decision"]["guard"] == "return_recorded"
    assert place.desk.truth("I-7").payments == 1
    client.end()


def test_a_run_nobody_can_approve_in_starts_only_where_the_command_line_says_so(tmp_path: Path) -> None:
    place = Place(tmp_path)
    contract = tmp_path / "contract.yaml"
    contract.write_text(CONTRACT, encoding="utf-8")
    command = [*TALLYSTICK, "gateway", "--contract", str(contract), "--ledger", str(place.ledger)]
    behind = ["--", sys.executable, str(SERVER), str(place.desk.path)]
    refused = subprocess.run(
        [*command, *behind], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )  # fmt: skip
    assert refused.returncode == 2
    assert "`pay_invoice` needs approval by `finance`" in refused.stderr
    assert "--without-approvers" in refused.stderr
    assert "without_approvers=True" not in refused.stderr
    client = LineClient([*command, "--without-approvers", *behind])
    assert "approval.missing" in client.call("pay_invoice", PAY)["result"]["content"][0]["text"]
    assert client.end()[0] == 0
    assert place.desk.truth("I-7").payments == 0
