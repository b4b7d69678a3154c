"""A gateway as a process, and a client that speaks lines."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tallystick.demo.desk import Desk
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.model.events import Event

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = ROOT / "examples" / "invoice-desk.yaml"
SERVER = Path(__file__).parent / "servers" / "desk_lines.py"
TALLYSTICK = [sys.executable, "-c", "from tallystick.cli import main; main()"]
I7 = {"invoice_id": "I-7"}
PAY = {"invoice_id": "I-7", "amount": "420.00"}


class Place:
    """A folder with a desk, a task and a ledger."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.desk = Desk.create(folder / "desk.db")
        self.ledger = folder / "ledger.db"
        self.task = folder / "task.json"
        self.task.write_text('{"bindings": {"invoice": "I-7"}}', encoding="utf-8")

    def gateway(self, *options: str, fault: str = "", server: list[str] | None = None, new: bool = True) -> list[str]:
        """The command line of a gateway in front of the desk."""
        behind = server or [sys.executable, str(SERVER), str(self.desk.path), fault]
        task = ["--task", str(self.task)] if new else []
        return [*TALLYSTICK, "gateway", "--contract", str(CONTRACT), "--ledger", str(self.ledger), *task, *options,
                "--", *behind]  # fmt: skip

    def seen(self) -> list[bytes]:
        """The lines that reached the server."""
        file = Path(f"{self.desk.path}.seen")
        return file.read_bytes().splitlines(keepends=True) if file.exists() else []

    def events(self, run: str | None = None) -> list[Event]:
        """What the ledger holds of its run."""
        store = SQLiteStore(self.ledger, read_only=True)
        try:
            return [s.event for s in store.events(run or store.runs()[0].run)]
        finally:
            store.close()

    def status(self) -> tuple[str, str]:
        """How the run ended."""
        body: Any = self.events()[-1].body
        return body.status, body.reason


class LineClient:
    """A client that writes lines to a process and reads lines from it."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        self._kept = b""
        self._number = 0

    def write(self, raw: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(raw)

    def line(self, seconds: float = 30) -> bytes:
        """The next line; b"" at the end of the stream."""
        assert self.process.stdout is not None
        fd = self.process.stdout.fileno()
        until = time.monotonic() + seconds
        while b"\n" not in self._kept:
            ready, _, _ = select.select([fd], [], [], max(0, until - time.monotonic()))
            assert ready, f"no line within {seconds} s"
            data = os.read(fd, 1 << 20)
            if not data:
                return b""
            self._kept += data
        line, _, self._kept = self._kept.partition(b"\n")
        return line + b"\n"

    def send(self, method: str, params: Any = None) -> int:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params or {}}
        self.write(json.dumps(message).encode() + b"\n")
        return self._number

    def ask(self, method: str, params: Any = None) -> Any:
        """Send a request and return the answer to it."""
        number = self.send(method, params)
        answer = json.loads(self.line())
        assert answer["id"] == number
        return answer

    def call(self, tool: str, args: Any = None) -> Any:
        return self.ask("tools/call", {"name": tool, "arguments": args or {}})

    def start(self) -> None:
        """The handshake."""
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}})
        self.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def end(self, seconds: float = 30) -> tuple[int, str]:
        """Close the input and return (exit code, standard error)."""
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        code = self.process.wait(seconds)
        return code, self.process.stderr.read().decode()
