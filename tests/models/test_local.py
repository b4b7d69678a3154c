"""The server on loopback: who may ask, what it answers, and that it goes. Weights are needed; shape is asserted, never
quality."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tallystick.errors import InputError
from tallystick.models import LocalEndpoint, is_local, local_model, model_of
from tallystick.models.cache import is_fetched
from tallystick.models.endpoint import ContextFullError
from tests.cli.conftest import Cli, cli
from tests.models.conftest import REAL_CACHE, Shelf

__all__ = ["cli"]

TOOL = {
    "type": "function",
    "function": {
        "name": "get_invoice",
        "description": "Read one invoice.",
        "parameters": {"type": "object", "properties": {"invoice_id": {"type": "string"}}, "required": ["invoice_id"]},
    },
}
ASK = [{"role": "user", "content": "Read the invoice I-7."}]


def needs(name: str) -> None:
    pytest.importorskip("xllamacpp", reason="the `local` extra is not installed")
    if not is_fetched(model_of(name)):
        pytest.skip(f"the weights are not fetched: tallystick models fetch {model_of(name).name}")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[LocalEndpoint]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TALLYSTICK_CACHE", str(REAL_CACHE))
        needs("")
        with local_model() as served:
            yield served


def alive(pid: int) -> bool:
    """Whether a process that is not ours to wait for still runs (a zombie does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 0)
            return not Path("/proc").is_dir()
        return False
    return state != "Z"


def gone(pid: int) -> bool:
    """Wait, bounded, for a process to end."""
    for _ in range(300):
        if not alive(pid):
            return True
        time.sleep(0.1)
    return False


def test_what_asks_for_a_local_model() -> None:
    assert is_local("local")
    assert is_local("local:smollm2-135m")
    assert not any(map(is_local, (None, "", "localhost", "gpt", "my-local")))


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="smollm2-135m"), local_model("local:nonsense"):
        pass


def test_without_the_engine_there_is_a_clear_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match="not installed"), local_model():
        pass


def test_weights_that_are_no_model_are_one_clear_error_and_no_process_stays(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xllamacpp", reason="the `local` extra is not installed")
    from tallystick.models.fetch import fetch

    for n in (1, 2, 3):
        shelf.put(n)
    fetch(shelf.model)
    monkeypatch.setattr("tallystick.models.local.model_of", lambda name: shelf.model)
    with pytest.raises(InputError, match="did not start"), local_model():
        pass


def test_it_answers_on_loopback_to_its_key_only_and_allows_no_page_to_read(endpoint: LocalEndpoint) -> None:
    """No key or a wrong one is refused, and no answer invites a web page to read it (CORS)."""
    assert endpoint.base_url.startswith("http://127.0.0.1:")
    assert endpoint.api_key not in repr(endpoint)
    body = json.dumps({"messages": ASK, "max_tokens": 1}).encode()
    for key in (None, "wrong"):
        headers = {"Content-Type": "application/json", "Origin": "http://evil.example"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        with pytest.raises(urllib.error.HTTPError) as bad:
            urllib.request.urlopen(urllib.request.Request(f"{endpoint.base_url}/chat/completions", body, headers))
        assert bad.value.code == 401
        assert bad.value.headers.get("Access-Control-Allow-Origin") in (None, "")
    root = endpoint.base_url.removesuffix("/v1")
    with pytest.raises(urllib.error.HTTPError):  # no page of its own
        urllib.request.urlopen(urllib.request.Request(root + "/", headers={"Accept": "text/html"}))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads /proc")
def test_the_key_is_in_no_argument_list_and_no_environment(endpoint: LocalEndpoint) -> None:
    for name in ("cmdline", "environ"):
        assert endpoint.api_key.encode() not in Path(f"/proc/{endpoint.pid}/{name}").read_bytes()


def test_a_reply_is_a_chat_completion_and_is_bounded_without_asking(endpoint: LocalEndpoint) -> None:
    """A request that names no limit gets at most 256 tokens: small models loop."""
    reply = endpoint.complete({"messages": [{"role": "user", "content": "Count for ever."}], "tools": [TOOL]})
    message = reply["choices"][0]["message"]
    assert message["role"] == "assistant"
    assert reply["usage"]["completion_tokens"] <= 256
    for call in message.get("tool_calls") or ():
        assert isinstance(call["function"]["name"], str)
        assert isinstance(call["function"]["arguments"], str)


def test_the_same_question_gets_the_same_answer(endpoint: LocalEndpoint) -> None:
    ask = {"messages": ASK, "temperature": 0, "max_tokens": 12}
    one, two = (endpoint.complete(ask)["choices"][0]["message"]["content"] for _ in range(2))
    assert one == two


def test_a_conversation_with_tool_results_is_taken(endpoint: LocalEndpoint) -> None:
    """The template knows every role a tool conversation has, and assistant turns without words."""
    call = {"id": "c1", "type": "function", "function": {"name": "get_invoice", "arguments": '{"invoice_id":"I-7"}'}}
    messages = [
        {"role": "system", "content": "You work at a desk."},
        *ASK,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"amount_due":"420.00"}'},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "And now?"},
    ]
    reply = endpoint.complete({"messages": messages, "tools": [TOOL], "max_tokens": 4})
    assert reply["usage"]["prompt_tokens"] > 50


def test_an_answer_under_a_schema_has_its_shape(endpoint: LocalEndpoint) -> None:
    schema = {
        "type": "object",
        "properties": {"label": {"enum": ["paid", "open"]}, "count": {"type": "integer"}},
        "required": ["label", "count"],
        "additionalProperties": False,
    }
    found = endpoint.constrained([{"role": "user", "content": "The invoice is open. Label and count."}], schema)
    assert found["label"] in {"paid", "open"}
    assert type(found["count"]) is int


def test_an_answer_that_was_cut_is_no_answer(endpoint: LocalEndpoint) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "minLength": 50}}, "required": ["a"]}
    with pytest.raises(InputError):
        endpoint.constrained(ASK, schema, max_tokens=3)


def test_a_conversation_beyond_the_context_is_told_apart_from_a_broken_endpoint(endpoint: LocalEndpoint) -> None:
    with pytest.raises(ContextFullError):
        endpoint.complete({"messages": [{"role": "user", "content": "word " * 20_000}], "max_tokens": 1})


def test_the_server_ends_with_its_block_even_in_the_middle_of_a_reply(real_cache: Path) -> None:
    needs("")

    def ask(endpoint: LocalEndpoint) -> None:
        with contextlib.suppress(InputError):
            endpoint.complete({"messages": ASK, "max_tokens": 4000})

    with local_model() as served:
        asking = threading.Thread(target=ask, args=(served,))
        asking.start()
        assert alive(served.pid)
    assert not alive(served.pid)
    asking.join(30)
    assert not asking.is_alive()


def test_the_server_goes_when_its_parent_is_killed(real_cache: Path) -> None:
    """SIGKILL leaves the parent no chance to clean up; the end of its pipe is what the server sees."""
    needs("")
    script = (
        "import subprocess, sys, time\n"
        "from tallystick.models import local_model\n"
        "with local_model() as served:\n"
        "    print(served.pid, flush=True)\n"
        "    time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert alive(pid)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert gone(pid)


def test_a_model_that_calls_tools_calls_them_natively(real_cache: Path) -> None:
    """With the JSON fence in the template the engine hands over tool calls, not text that looks like one."""
    needs("qwen2.5-coder-0.5b")
    with local_model("local:qwen2.5-coder-0.5b") as served:
        reply = served.complete({"messages": ASK, "tools": [TOOL], "temperature": 0})
    (call,) = reply["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]).keys() == {"invoice_id"}
    assert reply["choices"][0]["finish_reason"] == "tool_calls"


def test_the_demo_runs_with_a_local_model_on_both_sides(
    real_cache: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """Two turns a side: that a table comes out is asserted, not what the model makes of its task."""
    needs("")
    monkeypatch.setattr("tallystick.demo.model_agent.MAX_TURNS", 2)
    done = cli("demo", "--model", "local", "--json")
    assert done.code == 0, done.err
    assert done.json["agent"] == "model smollm2-135m"
    assert done.json["guarded"]["status"] in {"CERTIFIED", "UNCERTIFIED", "IN_DOUBT", "BLOCKED"}
