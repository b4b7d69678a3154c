"""The gateway with a client and servers from npm. Skipped where node or the packages are missing."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.process import I7, PAY, TALLYSTICK, Place

FOLDER = Path(__file__).parent / "node"
MODULES = FOLDER / "node_modules" / "@modelcontextprotocol"
EVERYTHING = ["node", str(MODULES / "server-everything" / "dist" / "index.js"), "stdio"]
MEMORY = ["node", str(MODULES / "server-memory" / "dist" / "index.js")]

pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed"),
    pytest.mark.skipif(not MODULES.is_dir(), reason="run `npm install --no-package-lock` in tests/gateway/node"),
]


def client(calls: list[Any], *target: str) -> list[Any]:
    """What the JavaScript client printed: the names of the tools, then a result for each call."""
    done = subprocess.run(
        ["node", str(FOLDER / "client.mjs"), json.dumps(calls), *target],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def contract(folder: Path, text: str) -> str:
    path = folder / "contract.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_javascript_client_pays_through_the_gateway(tmp_path: Path) -> None:
    place = Place(tmp_path)
    names, early, _, paid, again = client(
        [["pay_invoice", PAY], ["get_invoice", I7], ["pay_invoice", PAY], ["pay_invoice", PAY]], *place.gateway()
    )
    assert names[-2:] == ["tallystick_status", "tallystick_finish"]
    assert early["isError"] is True
    assert early["structuredContent"]["guard"] == "hold"
    assert again["content"] == paid["content"]
    assert place.desk.truth("I-7").payments == 1


def test_the_javascript_client_over_http(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    place = Place(tmp_path)
    process = subprocess.Popen(place.gateway("--http", "--port", "0"), stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        url = next(found[0] for line in process.stderr if (found := re.search(r"http://\S+", line)))
        names, early, read = client([["pay_invoice", PAY], ["get_invoice", I7]], url)
        assert "tallystick_finish" in names
        assert early["isError"] is True
        assert "isError" not in read
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert place.status()[0] == "UNCERTIFIED"


def test_the_everything_server_behind_the_gateway(tmp_path: Path) -> None:
    """Tools with structured content and an output schema, long-running ones with progress, and undeclared ones."""
    file = contract(
        tmp_path,
        "contract: everything/1\ntools:\n  echo: {effect: read, args: {message: string}}\n"
        "  get-sum: {effect: read, args: {a: integer, b: integer}}\n"
        "  get-structured-content: {effect: write, args: {location: string}, requires: [{id: sum, read: get-sum}]}\n"
        "  trigger-long-running-operation: {effect: read, args: {duration: integer, steps: integer}}\n",
    )
    ledger = str(tmp_path / "l.db")
    names, echo, refused, total, admitted, long, unknown = client(
        [
            ["echo", {"message": "hi"}],
            ["get-structured-content", {"location": "Chicago"}],
            ["get-sum", {"a": 2, "b": 40}],
            ["get-structured-content", {"location": "Chicago"}],
            ["trigger-long-running-operation", {"duration": 1, "steps": 2}],
            ["get-env", {}],
        ],
        *TALLYSTICK, "gateway", "--contract", file, "--ledger", ledger, "--", *EVERYTHING,
    )  # fmt: skip
    assert {"echo", "get-sum", "tallystick_status"} <= set(names)
    assert echo["content"] == [{"type": "text", "text": "Echo: hi"}]
    assert "42" in total["content"][0]["text"]
    assert refused["isError"] is True  # not thrown: a refusal fits a tool with an output schema
    assert admitted["structuredContent"]["conditions"]
    assert "completed" in long["content"][0]["text"]
    assert "tool.unmentioned" in unknown["content"][0]["text"]


def test_the_memory_server_behind_the_gateway(tmp_path: Path) -> None:
    """A server that really writes: a deletion needs the entity to have been read, and happens once."""
    file = contract(
        tmp_path,
        """
contract: memory/1
entities:
  entity: {name: id, kind: string}
tools:
  create_entities: {effect: write, args: {entities: json}}
  open_nodes:
    effect: read
    args: {names: json}
    yields: {entity: {at: /entities/*, id: /name, kind: /entityType}}
  delete_entities:
    effect: write
    args: {entityNames: list(string)}
    target: each entity(args.entityNames)
    once_per: args.entityNames
    ok: result.success == true
    requires:
      - {id: looked, known: entity}
""",
    )
    made = {"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]}
    _, created, early, opened, deleted, again = client(
        [
            ["create_entities", made],
            ["delete_entities", {"entityNames": ["Ada"]}],
            ["open_nodes", {"names": ["Ada"]}],
            ["delete_entities", {"entityNames": ["Ada"]}],
            ["delete_entities", {"entityNames": ["Ada"]}],
        ],
        "env", f"MEMORY_FILE_PATH={tmp_path / 'memory.jsonl'}", *TALLYSTICK, "gateway", "--contract", file, "--",
        *MEMORY,
    )  # fmt: skip
    assert created["structuredContent"]["entities"][0]["name"] == "Ada"
    assert "evidence.unknown_entity" in early["content"][0]["text"]
    assert opened["structuredContent"]["entities"][0]["entityType"] == "person"
    assert "isError" not in deleted
    assert again["_meta"]["tallystick/decision"]["guard"] == "return_recorded"
    assert "Ada" not in (tmp_path / "memory.jsonl").read_text(encoding="utf-8")
