"""The gateway under the conformance suite: a scripted client that speaks lines, and the tools as a server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tallystick import Run
from tallystick.gateway.frames import Lines
from tallystick.gateway.session import Session, Wires
from tallystick.testing.conformance import Ask, Final, Model, Seen, Transcript
from tests.gateway.bench import Timers


class GatewayHarness:
    """A model whose client reaches its tools through the gateway. Its last word is a call of `tallystick_finish`."""

    features = frozenset({"parallel", "fragments", "cut", "holds_text", "stops"})

    def drive(
        self,
        run: Run,
        tools: Mapping[str, Callable[..., Any]],
        model: Model,
        *,
        max_turns: int,
        fragments: bool = False,
    ) -> Transcript:
        told = Transcript()
        client = _Client(run, tools, fragments=fragments)
        while told.turns < max_turns and (turn := model(told.seen)) is not None:
            told.turns += 1
            told.seen.extend(client.calls(turn.calls))
            if turn.final is not None:
                args = self.last_word(turn.final)
                (answer,) = client.calls((Ask(id="", tool="tallystick_finish", args=args),))
                if client.accepted:
                    told.shown.append(turn.final.text)
                    break
                told.seen.append(answer)
            if run.status is not None:
                break
        client.leave()
        return told

    def last_word(self, final: Final) -> dict[str, Any]:
        """The arguments of the finish tool."""
        return {"text": final.text, "claims": dict(final.claims)}


class GatewayTextHarness(GatewayHarness):
    """A model that gives the finish tool only what it would tell the user."""

    def last_word(self, final: Final) -> dict[str, Any]:
        return {"text": final.text}


class _Client:
    def __init__(self, run: Run, tools: Mapping[str, Callable[..., Any]], *, fragments: bool) -> None:
        self.run = run
        self.tools = tools
        self.fragments = fragments
        self.accepted = False
        self.number = 0
        self.got: dict[str, Any] = {}
        self.sent: list[bytes] = []
        self.timers = Timers()
        wires = Wires(
            to_server=self.sent.append, reply=self._reply, to_client=lambda line, _: None, later=self.timers.later
        )
        self.session = Session(run, wires)
        self.lines = Lines(self.session.from_client, lambda piece, at: None)

    def _reply(self, id_: Any, line: bytes) -> None:
        self.got[str(id_)] = json.loads(line)

    def calls(self, asks: tuple[Ask, ...]) -> list[Seen]:
        """Make these calls in parallel and return what came back for each."""
        ids = []
        for ask in asks:
            self.number += 1
            ids.append(ask.id or f"finish-{self.number}")
            message = {
                "jsonrpc": "2.0", "id": ids[-1], "method": "tools/call",
                "params": {"name": ask.tool, "arguments": dict(ask.args)},
            }  # fmt: skip
            raw = json.dumps(message).encode()
            raw = raw[: len(raw) * 2 // 3] + b"\n" if ask.cut else raw + b"\n"  # the client was cut in the middle
            size = 5 if self.fragments else len(raw)
            for at in range(0, len(raw), size):
                self.lines.feed(raw[at : at + size])
        self._serve()
        return [Seen(id=ask.id, text=self._text(id_)) for ask, id_ in zip(asks, ids, strict=True)]

    def _text(self, id_: str) -> str:
        answer = self.got.pop(id_, None) or self.got.pop("None", {"error": "no answer"})
        if "result" not in answer:
            return json.dumps(answer["error"])
        told = answer["result"].get("structuredContent")
        self.accepted = self.accepted or bool(told and told.get("accepted"))
        return str(answer["result"]["content"][0]["text"])

    def _serve(self) -> None:
        """Be the server: answer what was asked, the newest first."""
        while self.sent:
            asked = json.loads(self.sent.pop())
            if "id" not in asked:
                continue
            result: Any = {"tools": []}
            if asked["method"] == "tools/call":
                try:
                    value = self.tools[asked["params"]["name"]](**asked["params"]["arguments"])
                    result = {"content": [{"type": "text", "text": json.dumps(value)}]}
                except Exception as bad:
                    result = {"content": [{"type": "text", "text": repr(bad)}], "isError": True}
            answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
            self.session.from_server(json.dumps(answer).encode())
            self.timers.fire()

    def leave(self) -> None:
        """The client closes its end."""
        self.session.server_gone("the session is over")
        self.run.close("gateway.client_ended")
