"""A model in the agent's place, played by a fake endpoint on loopback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tallystick.demo.agents import Job
from tallystick.demo.desk import Desk, Faults
from tallystick.demo.model_agent import MAX_TURNS, ModelAgent
from tallystick.demo.ports import UnguardedPort
from tallystick.errors import InputError
from tests.demo.fake_endpoint import call, serving, turn

JOB = Job(request="Pay invoice I-7 (420.00 EUR) and send its receipt.", invoice="I-7", amount="420.00")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk.create(tmp_path / "desk.db", Faults(timeout=True))


def run(desk: Desk, url: str, **more: str) -> UnguardedPort:
    port = UnguardedPort(desk.tools())
    ModelAgent(model="tiny", base_url=url, **more).run(port, JOB)
    return port


def test_a_model_pays_through_the_port_and_sees_the_timeout(desk: Desk) -> None:
    pay = {"invoice_id": "I-7", "amount": "420.00"}
    with serving(call("pay_invoice", pay), call("pay_invoice", pay), call("finish", {"text": "Paid."})) as endpoint:
        port = run(desk, endpoint.url, api_key="secret-key")
    assert str(desk.truth("I-7").paid) == "840.00"
    assert port.exchanges[-1].text == "Paid."
    told = [m["content"] for m in endpoint.requests[-1]["messages"] if m["role"] == "tool"]
    assert "TimeoutError" in told[0]
    assert json.loads(told[1])["amount"] == "420.00"
    assert set(endpoint.keys) == {"Bearer secret-key"}
    names = [t["function"]["name"] for t in endpoint.requests[0]["tools"]]
    assert names == [*desk.tools(), "finish"]


def test_no_key_sends_no_authorization(desk: Desk) -> None:
    with serving(turn("Done.")) as endpoint:
        port = run(desk, endpoint.url)
    assert endpoint.keys == [None]
    assert port.exchanges[-1].text == "Done."  # words without a call are the model's "done"


@pytest.mark.parametrize(
    "args", ['{"invoice_id": "I-7", "amount": ', "[]", '{"invoice_id": "I-7"}', '{"invoice_id":"I-7","amount":1,"x":1}']
)
def test_arguments_that_cannot_be_used_are_told_to_the_model_and_pay_nothing(desk: Desk, args: str) -> None:
    with serving(call("pay_invoice", args), turn("Never mind.")) as endpoint:
        run(desk, endpoint.url)
    assert "error" in json.loads(endpoint.requests[-1]["messages"][-1]["content"])
    assert desk.truth("I-7").payments == 0


def test_a_tool_that_does_not_exist_is_an_error_to_the_model(desk: Desk) -> None:
    with serving(call("delete_everything", {}), turn("Oh.")) as endpoint:
        run(desk, endpoint.url)
    assert "no tool `delete_everything`" in endpoint.requests[-1]["messages"][-1]["content"]


def test_a_model_that_loops_is_stopped(desk: Desk) -> None:
    with serving(call("get_invoice", {"invoice_id": "I-7"})) as endpoint:
        port = run(desk, endpoint.url)
    assert len(endpoint.requests) == MAX_TURNS
    assert port.exchanges[-1].answer is None


@pytest.mark.parametrize(
    ("played", "says"),
    [
        (401, "answered 401"),
        (500, "answered 500"),
        (302, "answered 302"),  # a redirect would carry the key elsewhere
        (b"<html>", "not JSON"),
        ({"choices": []}, "not a chat completion"),
        ([1], "not a chat completion"),
    ],
)
def test_an_endpoint_that_cannot_be_used_is_one_clear_error(desk: Desk, played: object, says: str) -> None:
    with serving(played) as endpoint, pytest.raises(InputError, match=says) as bad:
        run(desk, endpoint.url, api_key="secret-key")
    assert "secret-key" not in str(bad.value)
    assert len(endpoint.requests) == 1


def test_nobody_listening_is_one_clear_error(desk: Desk) -> None:
    with serving() as endpoint:
        pass
    with pytest.raises(InputError, match="cannot be used"):
        run(desk, endpoint.url)


def test_a_query_of_the_url_is_kept_and_never_shown(desk: Desk) -> None:
    with serving(turn("Done."), 500) as endpoint:
        run(desk, f"{endpoint.url}?code=hidden")
        assert endpoint.paths == ["/v1/chat/completions?code=hidden"]
        with pytest.raises(InputError, match="answered 500") as bad:
            run(desk, f"{endpoint.url}?code=hidden")
    assert "hidden" not in str(bad.value)


def test_a_key_that_no_header_takes_is_refused_without_showing_it() -> None:
    with pytest.raises(InputError) as bad:
        ModelAgent(model="tiny", base_url="http://127.0.0.1/v1", api_key="secret\n")
    assert "secret" not in str(bad.value)


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "http://[::1", "http://h:port/v1", "localhost:8080", "", "http://user:pw@localhost/v1"],
)
def test_only_plain_http_urls_are_taken(url: str) -> None:
    with pytest.raises(InputError):
        ModelAgent(model="tiny", base_url=url)
