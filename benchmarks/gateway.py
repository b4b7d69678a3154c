"""What the MCP gateway adds to a call: the same client and server directly, through the gateway, and through a proxy.

Client and server are the `mcp` package's own, over standard streams; every contender is a session of its own, kept
open, and they take turns. Beside it the same with a client that only writes and reads lines, which shows the hop
itself, and how many calls a second go through when many are under way. The proxy is fastmcp's, where installed.

Usage: python benchmarks/gateway.py [--json] [--rounds N] [--calls N]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

CONTRACT = """
contract: orders/1
entities:
  order: {id: id, status: string, total: money(EUR)}
tools:
  get_order:
    effect: read
    args: {order_id: id}
    target: order(args.order_id)
    yields: {order: {id: /id, status: /status, total: /total}}
  refund:
    effect: write
    args: {order_id: id, amount: money(EUR)}
    target: order(args.order_id)
    once_per: args.order_id
    ok: result.status == "refunded"
"""
MAX_ADDED_MS = 0.5
MAX_ADDED_SHARE = 0.25


def serve() -> None:
    """Be the server."""
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("orders")

    def get_order(order_id: str) -> dict[str, str]:
        """Read an order."""
        return {"id": order_id, "status": "delivered", "total": "42.00", "currency": "EUR"}

    def refund(order_id: str, amount: str) -> dict[str, str]:
        """Refund an order."""
        return {"id": order_id, "status": "refunded", "amount": amount}

    server.add_tool(get_order)
    server.add_tool(refund)
    server.run("stdio")


def proxy() -> None:
    """Be fastmcp's proxy in front of the server."""
    from fastmcp.client.transports import StdioTransport
    from fastmcp.server import create_proxy

    create_proxy(StdioTransport(sys.executable, [__file__, "--serve"]), name="proxy").run(show_banner=False)


def commands(folder: Path) -> dict[str, list[str]]:
    """Return how to start each contender."""
    contract = folder / "contract.yaml"
    contract.write_text(CONTRACT, encoding="utf-8")
    server = [sys.executable, __file__, "--serve"]
    gateway = [sys.executable, "-c", "from tallystick.cli import main; main()", "gateway", "--contract", str(contract)]
    found = {
        "direct": server,
        "gateway": [*gateway, "--ledger", str(folder / "ledger.db"), "--", *server],
        "gateway, in memory": [*gateway, "--", *server],
    }
    if importlib.util.find_spec("fastmcp") is not None:
        found["package-built proxy"] = [sys.executable, __file__, "--proxy"]
    return found


Call = Callable[[str, dict[str, Any]], Awaitable[None]]


async def measure(contenders: dict[str, Call], tool: str, args: Callable[[int], Any], rounds: int, calls: int) -> Any:
    """Return contender → milliseconds of each call; they take turns call by call, forwards and backwards."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    order = list(contenders)
    for n in range(rounds * calls + 50):
        for name in order:
            began = time.perf_counter()
            await contenders[name](tool, args(n))
            if n >= 50:  # the first ones are warm-up
                times[name].append((time.perf_counter() - began) * 1e3)
        order.reverse()
    return times


class Lines:
    """A client that writes and reads lines, and nothing else."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        self.kept = b""
        self.number = 0
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
        self.send("initialize", hello)
        self.line()
        self.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def write(self, raw: bytes) -> None:
        """Write to it."""
        assert self.process.stdin is not None
        self.process.stdin.write(raw)

    def send(self, method: str, params: Any) -> None:
        """Send a request."""
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def line(self) -> bytes:
        """Return the next line."""
        assert self.process.stdout is not None
        while b"\n" not in self.kept:
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                raise EOFError("the session ended")
            self.kept += data
        line, _, self.kept = self.kept.partition(b"\n")
        return line

    async def call(self, tool: str, args: dict[str, Any]) -> None:
        """Call a tool and wait for the answer."""
        self.send("tools/call", {"name": tool, "arguments": args})
        self.line()

    def many(self, count: int, window: int) -> float:
        """Return calls a second with `window` of them under way at a time."""
        began = time.perf_counter()
        for n in range(count + window):
            if n < count:
                self.send("tools/call", {"name": "get_order", "arguments": {"order_id": f"M-{n}"}})
            if n >= window:
                self.line()
        return count / (time.perf_counter() - began)

    def close(self) -> None:
        """End the session."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(30)


async def with_package(found: dict[str, list[str]], rounds: int, calls: int) -> dict[str, Any]:
    """Measure with the package's own client: a read, and a write that reaches the disk."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async with contextlib.AsyncExitStack() as stack:
        sessions: dict[str, Call] = {}
        null = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - closed by the stack
        stack.callback(null.close)
        for name, command in found.items():
            stdio = stdio_client(
                StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ)), errlog=null
            )
            read, write = await stack.enter_async_context(stdio)
            session = await stack.enter_async_context(ClientSession(read, write))
            await session.initialize()
            sessions[name] = session.call_tool  # type: ignore[assignment]
        reads = await measure(sessions, "get_order", lambda n: {"order_id": f"O-{n % 20}"}, rounds, calls)
        few = max(rounds // 2, 1)
        writes = await measure(
            sessions, "refund", lambda n: {"order_id": f"W-{n}", "amount": "1.00"}, few, max(calls // 2, 1)
        )
        return {"read": reads, "write": writes}


def report(times: dict[str, dict[str, list[float]]], rates: dict[str, float]) -> dict[str, Any]:
    """Return medians, what each contender adds to a direct call, and what was to be reached."""
    rows: dict[str, Any] = {}
    for kind, found in times.items():
        direct = found["direct"]
        for name, each in found.items():
            added = statistics.median(a - b for a, b in zip(each, direct, strict=True))
            share = statistics.median(each) / statistics.median(direct) - 1
            rows.setdefault(kind, {})[name] = {
                "p50_ms": round(statistics.median(each), 3),
                "p95_ms": round(statistics.quantiles(each, n=20)[18], 3),
                "added_p50_ms": round(added, 3),
                "added_share": round(share, 3),
            }
    goal = rows["read"]["gateway"]
    return {
        "calls": rows,
        "calls_per_second": {name: round(rate) for name, rate in rates.items()},
        "reach": {
            "added_p50_ms": {"most": MAX_ADDED_MS, "met": goal["added_p50_ms"] <= MAX_ADDED_MS},
            "added_share": {"most": MAX_ADDED_SHARE, "met": goal["added_share"] <= MAX_ADDED_SHARE},
        },
    }


def table(told: dict[str, Any]) -> str:
    """Return the report for people."""
    lines = []
    for kind, rows in told["calls"].items():
        lines.append(f"{kind:34} {'p50 ms':>8} {'p95 ms':>8} {'adds ms':>8} {'adds %':>7}")
        for name, row in rows.items():
            lines.append(
                f"  {name:32} {row['p50_ms']:8.2f} {row['p95_ms']:8.2f} {row['added_p50_ms']:8.2f}"
                f" {row['added_share'] * 100:7.0f}"
            )
        lines.append("")
    lines.append("calls a second, 16 under way")
    lines += [f"  {name:32} {rate:8d}" for name, rate in told["calls_per_second"].items()]
    lines.append("")
    for name, goal in told["reach"].items():
        lines.append(f"gateway, read with the package's client: {name} ≤ {goal['most']:g}: "
                     f"{'met' if goal['met'] else 'MISSED'}")  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--proxy", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    if options.proxy:
        proxy()
        return
    times: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        found = commands(Path(folder))
        times.update(asyncio.run(with_package(found, options.rounds, options.calls)))
    with tempfile.TemporaryDirectory() as folder:
        clients = {name: Lines(command) for name, command in commands(Path(folder)).items()}
        lines = {name: client.call for name, client in clients.items()}
        one = asyncio.run(
            measure(lines, "get_order", lambda n: {"order_id": f"O-{n % 20}"}, options.rounds, options.calls)
        )
        times["read, lines only"] = one
        rates = {name: statistics.median(client.many(300, 16) for _ in range(3)) for name, client in clients.items()}
        for client in clients.values():
            client.close()
    told = report(times, rates)
    print(json.dumps(told) if options.json else table(told))


if __name__ == "__main__":
    main()
