"""The gateway as a process between pipes: how it ends, how it dies, and what is in the ledger afterwards."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tallystick.model.events import Reported
from tests.gateway.process import CONTRACT, I7, PAY, TALLYSTICK, LineClient, Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A folder with a desk, a task and a ledger."""
    return Place(tmp_path)


def body(answer: Any) -> Any:
    return json.loads(answer["result"]["content"][0]["text"])


def test_a_whole_task_through_the_gateway_is_certified(place: Place) -> None:
    client = LineClient(place.gateway())
    client.start()
    first = client.ask("tools/list")["result"]
    assert [t["name"] for t in first["tools"]][-2:] == ["tallystick_status", "tallystick_finish"]
    assert len(client.ask("tools/list", {"cursor": first["nextCursor"]})["result"]["tools"]) == 3
    assert client.call("pay_invoice", PAY)["result"]["isError"] is True
    client.call("get_invoice", I7)
    file = body(client.call("pay_invoice", PAY))["receipt_file"]
    assert client.call("tallystick_finish", {"text": "done"})["result"]["isError"] is True
    assert body(client.call("send_receipt", {**I7, "file": file}))["status"] == "sent"
    client.call("payments", I7)
    told = client.call("tallystick_finish", {"text": "done", "claims": {"amount_paid": "420.00"}})
    assert told["result"]["structuredContent"]["status"] == "CERTIFIED"
    code, err = client.end()
    assert code == 0
    assert "CERTIFIED; the session ended by the client" in err
    assert place.status() == ("CERTIFIED", "stop.accepted")
    assert place.desk.truth("I-7").payments == 1
    seen = [json.loads(line) for line in place.seen()]
    assert [m["params"]["name"] for m in seen if m.get("method") == "tools/call"] == [
        "get_invoice", "pay_invoice", "send_receipt", "payments",
    ]  # fmt: skip


@pytest.mark.parametrize("options", [(), ("--explicit-claims",)])
def test_the_text_is_read_for_what_it_states_unless_the_host_says_not_to(
    place: Place, options: tuple[str, ...]
) -> None:
    client = LineClient(place.gateway(*options))
    client.start()
    client.call("get_invoice", I7)
    file = body(client.call("pay_invoice", PAY))["receipt_file"]
    client.call("send_receipt", {**I7, "file": file})
    client.call("payments", I7)
    wrong = client.call("tallystick_finish", {"text": "I paid 42.00 EUR for invoice I-7."})["result"]
    told = client.call("tallystick_finish", {"text": "I paid EUR 420 for invoice I-7."})["result"]
    assert wrong["structuredContent"]["decision"] == "CONTINUE"
    assert (told["structuredContent"]["status"] == "CERTIFIED") is (not options)
    codes = {deficit["code"] for deficit in wrong["structuredContent"]["deficits"]}
    assert codes == ({"coverage.open"} if options else {"claim.unit"})
    client.end()


def test_the_report_in_a_final_answer_is_compared_and_believed_by_nobody(place: Place) -> None:
    client = LineClient(place.gateway("--report", "xml"))
    client.start()
    client.call("get_invoice", I7)
    told = client.call("tallystick_finish", {"text": "All paid.\n<stage>completed</stage>"})["result"]
    assert told["structuredContent"]["decision"] == "CONTINUE"
    client.end()
    (report,) = [event.body for event in place.events() if event.kind == "report"]
    assert report == Reported(stage="completed")


def test_a_session_that_just_ends_is_uncertified(place: Place) -> None:
    client = LineClient(place.gateway())
    client.call("get_invoice", I7)
    code, err = client.end()
    assert (code, place.status()) == (0, ("UNCERTIFIED", "gateway.client_ended"))
    assert "UNCERTIFIED" in err


def test_garbage_and_reused_ids_leave_the_server_untouched_and_the_session_usable(place: Place) -> None:
    client = LineClient(place.gateway())
    client.call("get_invoice", I7)
    before = place.seen()
    for raw in (
        b"\x00\xff garbage\n",
        b"[]\n",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        b'{"a":' * 5_000 + b"\n",
    ):
        client.write(raw)
        assert json.loads(client.line())["error"]["code"] in (-32700, -32600)
    assert place.seen() == before
    assert client.ask("vendor/echo", {"x": 1})["result"] == {"echo": {"x": 1}}
    client.end()


def test_large_lines_go_through_in_both_directions(place: Place) -> None:
    client = LineClient(place.gateway())
    text = "x" * 5_000_000
    assert client.ask("vendor/echo", {"text": text})["result"] == {"echo": {"text": text}}
    client.end()


def test_a_line_beyond_the_limit_gets_a_protocol_error_and_the_next_one_works(place: Place) -> None:
    client = LineClient(place.gateway())
    client.ask("vendor/echo")
    before = place.seen()
    piece = b"x" * 1_000_000
    for _ in range(68):
        client.write(piece)
    assert json.loads(client.line())["error"]["code"] == -32600
    client.write(b"\n")
    assert client.ask("vendor/echo", {"y": 1})["result"] == {"echo": {"y": 1}}
    assert place.seen()[: len(before)] == before
    assert len(place.seen()) == len(before) + 1
    client.end()


def test_what_the_server_answers_after_the_client_has_gone_is_recorded(place: Place) -> None:
    client = LineClient(place.gateway(fault="slow-end"))
    client.ask("vendor/echo")
    client.send("tools/call", {"name": "get_invoice", "arguments": I7})
    while not any(e.kind == "intent" for e in place.events()):
        time.sleep(0.02)
    assert client.end()[0] == 0
    assert [e.kind for e in place.events()][-3:] == ["intent", "receipt", "run.ended"]


def test_a_server_that_dies_in_a_payment_leaves_it_in_doubt_and_the_client_is_told(place: Place) -> None:
    client = LineClient(place.gateway(fault="die-in-pay"))
    client.call("get_invoice", I7)
    error = client.call("pay_invoice", PAY)["error"]
    assert "not known whether pay_invoice ran" in error["message"]
    assert client.line() == b""
    assert client.end()[0] == 1
    assert place.status()[0] == "IN_DOUBT"


def test_a_server_that_never_answers_is_given_up(place: Place) -> None:
    client = LineClient(place.gateway("--timeout", "1", fault="hang-in-pay"))
    client.call("get_invoice", I7)
    result = client.call("pay_invoice", PAY)["result"]
    assert result["isError"] is True
    assert "not known" in result["structuredContent"]["in_doubt"]
    again = client.call("pay_invoice", PAY)["result"]  # settled by the books, through the same server
    assert again["_meta"]["tallystick/decision"]["guard"] == "return_recorded"
    assert place.desk.truth("I-7").payments == 1
    client.end()


def test_a_server_that_will_not_end_is_made_to(place: Place) -> None:
    client = LineClient(place.gateway(fault="ignore-end"))
    client.call("get_invoice", I7)
    assert client.end()[0] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_run_honestly(place: Place, number: int) -> None:
    client = LineClient(place.gateway())
    client.call("get_invoice", I7)
    client.process.send_signal(number)
    assert client.process.wait(30) == 0
    assert place.status() == ("UNCERTIFIED", "gateway.signal_ended")
    client.end()


def test_a_killed_gateway_leaves_the_payment_in_doubt_and_the_next_one_settles_it(place: Place) -> None:
    first = LineClient(place.gateway("--run", "r", fault="hang-in-pay"))
    first.call("get_invoice", I7)
    first.send("tools/call", {"name": "pay_invoice", "arguments": PAY})
    while place.desk.truth("I-7").payments == 0:
        time.sleep(0.02)
    first.process.kill()
    first.process.wait()
    assert [e.kind for e in place.events()][-1] == "intent"
    verified = subprocess.run([*TALLYSTICK, "verify", str(place.ledger)], capture_output=True, check=False)
    assert verified.returncode == 0
    held = subprocess.run(
        place.gateway("--run", "r", new=False), capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    assert held.returncode == 2  # the lease of the killed one is still live
    second = LineClient(place.gateway("--run", "r", "--force", new=False))
    found = second.call("tallystick_status")["result"]["structuredContent"]
    assert [d["tool"] for d in found["in_doubt"]] == ["pay_invoice"]
    again = second.call("pay_invoice", PAY)["result"]
    assert again["_meta"]["tallystick/decision"]["guard"] == "return_recorded"
    assert place.desk.truth("I-7").payments == 1
    second.end()


def test_one_command_line_starts_a_run_and_takes_it_up_again(place: Place) -> None:
    """What a client's configuration holds cannot change between the first start and the next."""
    first = LineClient(place.gateway("--run", "r", "--keep-open"))
    first.call("get_invoice", I7)
    first.end()
    place.task.write_text('{ "need_answer": true, "bindings": {"invoice": "I-7"} }', encoding="utf-8")  # same meaning
    second = LineClient(place.gateway("--run", "r", "--keep-open"))
    assert body(second.call("pay_invoice", PAY))["status"] == "paid"
    assert "warning" not in second.end()[1]
    assert [e.kind for e in place.events("r")].count("run.started") == 1


def test_a_run_that_exists_is_not_taken_up_for_another_task(place: Place) -> None:
    LineClient(place.gateway("--run", "r", "--keep-open")).end()
    place.task.write_text('{"bindings": {"invoice": "I-8"}}', encoding="utf-8")
    before = place.events("r")
    done = subprocess.run(
        place.gateway("--run", "r"), capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "--task: the run `r` exists" in done.stderr
    assert place.events("r") == before


def test_a_start_warns_of_a_killed_run_whose_payment_it_knows_nothing_of(place: Place) -> None:
    first = LineClient(place.gateway("--run", "old", fault="hang-in-pay"))
    first.call("get_invoice", I7)
    first.send("tools/call", {"name": "pay_invoice", "arguments": PAY})
    while place.desk.truth("I-7").payments == 0:
        time.sleep(0.02)
    first.process.kill()
    first.process.wait()
    second = LineClient(place.gateway())
    second.ask("vendor/echo")
    err = second.end()[1]
    (named,) = [line for line in err.splitlines() if "`old`" in line]
    assert "is live; lease until" in named
    assert "pay_invoice (c2)" in named
    assert "`--run old`" in named
    assert "every start makes a new run" in err


def test_a_start_warns_of_runs_in_doubt_and_of_no_others(place: Place) -> None:
    for run, fault in (("doubt", "die-in-pay"), ("fine", "")):
        client = LineClient(place.gateway("--run", run, fault=fault))
        client.call("get_invoice", I7)
        if fault:
            client.call("pay_invoice", PAY)
        client.end()
    LineClient(place.gateway("--run", "left", "--keep-open")).end()
    third = LineClient(place.gateway("--run", "new"))
    third.ask("vendor/echo")
    err = third.end()[1]
    assert "`doubt` under this contract ended IN_DOUBT" in err
    assert "pay_invoice (c2)" in err
    assert "`fine`" not in err
    assert "`left`" not in err
    assert "every start" not in err


def test_a_run_left_open_goes_on_in_the_next_session(place: Place) -> None:
    first = LineClient(place.gateway("--run", "r", "--keep-open"))
    first.call("get_invoice", I7)
    assert "left open" in first.end()[1]
    second = LineClient(place.gateway("--run", "r", new=False))
    assert body(second.call("pay_invoice", PAY))["status"] == "paid"
    second.end()
    assert place.status()[0] == "UNCERTIFIED"


def test_messages_from_a_file_are_answered_too(place: Place) -> None:
    file = place.folder / "in.jsonl"
    file.write_bytes(b'{"jsonrpc":"2.0","id":1,"method":"vendor/echo","params":{}}')  # no end of line, as files may
    with file.open("rb") as stdin:
        done = subprocess.run(place.gateway(), stdin=stdin, capture_output=True, check=False)
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {"echo": {}}}


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--contract", "C", "--", "no-such-program-anywhere"], "no such program"),
        (["--contract", "C"], "COMMAND"),
        (["--contract", "missing.yaml", "--", "true"], "missing.yaml"),
        (["--contract", "C", "--timeout", "0", "--", "true"], "timeout"),
        (["--contract", "C", "--task", "missing.json", "--", "true"], "missing.json"),
        (["--contract", "C", "--token-env", "NO_SUCH_VARIABLE_IS_SET", "--http", "--", "true"], "NO_SUCH"),
        (["--contract", "C", "--http", "--host", "0.0.0.0", "--", "true"], "token"),
        (["--contract", "C", "--", "true"], "invoice"),
        (["--contract", "C", "--keep-open", "--", "true"], "--keep-open: nothing is kept without a ledger"),
    ],
    ids=range(9),
)
def test_misuse_is_one_line_and_exit_2(tmp_path: Path, args: list[str], says: str) -> None:
    command = [str(CONTRACT) if a == "C" else a for a in args]
    done = subprocess.run(
        [*TALLYSTICK, "gateway", *command], capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=tmp_path,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_but_messages_is_on_standard_output(place: Place) -> None:
    client = LineClient(place.gateway())
    client.call("get_invoice", I7)
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.line() == b""
    client.process.wait(30)
