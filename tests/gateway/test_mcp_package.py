"""The gateway between the `mcp` package's own server and its own client, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tallystick.demo.desk import Desk, faults_of
from tests.gateway.process import I7, PAY, Place

mcp = pytest.importorskip("mcp", reason="the `mcp` package is not installed")

from mcp import ClientSession, StdioServerParameters  # noqa: E402
from mcp.client.client import Client  # noqa: E402
from mcp.client.stdio import stdio_client  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402

SERVER = Path(__file__).parent / "servers" / "desk_mcp.py"


async def pay_and_finish(session: Any) -> None:
    """The whole of the task, with a refusal and a refused "done" on the way."""
    names = [tool.name for tool in (await session.list_tools()).tools]
    assert names[-2:] == ["tallystick_status", "tallystick_finish"]
    early = await session.call_tool("pay_invoice", PAY)
    assert early.is_error
    assert "evidence.missing" in early.content[0].text
    assert not (await session.call_tool("get_invoice", I7)).is_error
    paid = await session.call_tool("pay_invoice", PAY)
    assert paid.structured_content["status"] == "paid"
    again = await session.call_tool("pay_invoice", PAY)
    assert again.structured_content == paid.structured_content
    refused = await session.call_tool("tallystick_finish", {"text": "done"})
    assert refused.is_error
    file = paid.structured_content["receipt_file"]
    assert not (await session.call_tool("send_receipt", {**I7, "file": file})).is_error
    await session.call_tool("payments", I7)
    status = await session.call_tool("tallystick_status", {})
    assert status.structured_content["stage"] == "completed"
    done = await session.call_tool("tallystick_finish", {"text": "done", "claims": {"amount_paid": "420.00"}})
    assert done.structured_content["status"] == "CERTIFIED"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A folder with a desk, a task and a ledger."""
    return Place(tmp_path)


@pytest.mark.parametrize("era", ["handshake", "stateless"])
def test_the_packages_client_and_server_work_through_the_gateway(place: Place, era: str) -> None:
    command = place.gateway(server=[sys.executable, str(SERVER), str(place.desk.path)])
    stdio = stdio_client(StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ)))

    async def talk() -> str:
        if era == "stateless":
            async with Client(stdio) as client:
                await pay_and_finish(client)
                return str(client.protocol_version)
        async with stdio as (read, write), ClientSession(read, write) as session:
            version = str((await session.initialize()).protocol_version)
            await pay_and_finish(session)
            return version

    version = asyncio.run(asyncio.wait_for(talk(), 60))
    assert version == ("2026-07-28" if era == "stateless" else "2025-11-25")
    assert place.status()[0] == "CERTIFIED"
    assert place.desk.truth("I-7").payments == 1


def test_the_packages_client_and_server_work_through_the_gateway_over_http(place: Place) -> None:
    pytest.importorskip("uvicorn")
    command = place.gateway("--http", "--port", "0", server=[sys.executable, str(SERVER), str(place.desk.path)])
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        url = next(found[0] for line in process.stderr if (found := re.search(r"http://\S+", line)))

        async def talk() -> None:
            async with streamable_http_client(url) as (read, write), ClientSession(read, write) as session:
                await session.initialize()
                status = await session.call_tool("tallystick_status", {})
                assert status.structured_content["stage"] == "needs_information"
            async with Client(streamable_http_client(url)) as client:  # goes on with the same run
                await pay_and_finish(client)

        asyncio.run(asyncio.wait_for(talk(), 60))
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert place.status()[0] == "CERTIFIED"


def test_the_packages_client_takes_the_news_of_a_payment_whose_own_answer_was_lost(place: Place) -> None:
    """The tool has an output schema; what is told of a lost answer cannot satisfy it, and must not break the client."""
    desk = Desk.create(place.folder / "slow.db", faults_of("timeout"))
    command = place.gateway(server=[sys.executable, str(SERVER), str(desk.path)])
    stdio = stdio_client(StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ)))

    async def talk() -> None:
        async with stdio as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            (pay,) = [t for t in (await session.list_tools()).tools if t.name == "pay_invoice"]
            assert pay.output_schema is not None
            await session.call_tool("get_invoice", I7)
            assert (await session.call_tool("pay_invoice", PAY)).is_error
            again = await session.call_tool("pay_invoice", PAY)
            assert again.is_error
            assert again.structured_content is None
            assert "pay_invoice took effect" in again.content[0].text
            assert "Evidence" in again.content[0].text

    asyncio.run(asyncio.wait_for(talk(), 60))
    assert desk.truth("I-7").payments == 1
