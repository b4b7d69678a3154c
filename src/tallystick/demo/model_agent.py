"""A model in the scripted agent's place: any endpoint that speaks OpenAI's chat completions with tools.

The number of turns is bounded, and an endpoint that cannot be used is one clear `InputError` (`models.endpoint`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tallystick.demo.agents import Job
from tallystick.demo.ports import Outcome, Port
from tallystick.demo.schemas import FINISH, SCHEMAS
from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.models.endpoint import ChatEndpoint, ContextFullError

MAX_TURNS: Final = 24
"""Most requests to the endpoint in one run."""
_SYSTEM: Final = (
    "You work at an invoice desk and act only through the tools. Amounts are strings such as `420.00`. When the task "
    "is finished, call `finish` with a sentence for the requester and the values asked for. If a call or `finish` is "
    "refused, read the reasons and do what would help."
)


class ModelAgent:
    """A model behind an OpenAI-compatible endpoint, on the same ports as the scripted agent.

    Args:
        model: model name as the endpoint knows it.
        base_url: e.g. `http://127.0.0.1:8080/v1`; `/chat/completions` is appended to its path, a query is kept.
        api_key: sent as a bearer token; None sends none.
        timeout: seconds to wait for one reply.

    Raises:
        InputError: the URL is not http(s), or holds a user name or password; the key is not plain printable text.
    """

    def __init__(self, *, model: str, base_url: str, api_key: str | None = None, timeout: int = 120) -> None:
        self.label = f"model {model}"
        self._model = model
        self._endpoint = ChatEndpoint(base_url=base_url, api_key=api_key, timeout=timeout)

    def run(self, port: Port, job: Job) -> None:
        """Work on `job` through `port` until "done" is accepted, the run is over, or `MAX_TURNS` are spent.

        A model whose context is full has nothing more to say, so its run is left there too.

        Raises:
            InputError: the endpoint cannot be reached, refuses, or answers something that is not a chat completion.
        """
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": _SYSTEM},
            {"role": "user", "content": job.request},
        ]
        for _ in range(MAX_TURNS):
            try:
                message, truncated = self._turn(messages)
            except ContextFullError:
                return
            messages.append(message)
            calls = message.get("tool_calls") or []
            if not calls:
                answer = port.finish(str(message.get("content") or ""), {}, truncated=truncated)
                if answer.accepted or answer.over:
                    return
                messages.append({"role": "user", "content": answer.text})
            for call in calls:
                text, over = self._act(port, call, truncated=truncated)
                if over:
                    return
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})

    def _act(self, port: Port, call: Mapping[str, Any], *, truncated: bool) -> tuple[str, bool]:
        """Carry out one tool call of the model; return what it is told, and whether the run is over."""
        name, raw = call["function"]["name"], call["function"]["arguments"]
        try:
            args = jsontext.loads(raw)
        except InputError as bad:
            return jsontext.dumps({"error": f"the arguments cannot be read: {bad.message}"}), False
        if not isinstance(args, dict):
            return jsontext.dumps({"error": "the arguments are not a JSON object"}), False
        if name != "finish":
            return port.call(name, args).text, False
        claims = args.get("claims")
        outcome: Outcome = "declined" if args.get("outcome") == "declined" else "acted"
        answer = port.finish(
            str(args.get("text", "")), claims if isinstance(claims, dict) else {}, outcome=outcome, truncated=truncated
        )
        return answer.text, answer.accepted or answer.over

    def _turn(self, messages: list[dict[str, Any]]) -> tuple[dict[str, Any], bool]:
        """Ask the model for its next turn; return the assistant message as sent back, and whether it was cut short."""
        reply = self._endpoint.complete(
            {"model": self._model, "messages": messages, "tools": [*SCHEMAS, FINISH], "temperature": 0, "stream": False}
        )
        try:
            choice = reply["choices"][0]
            heard = choice["message"]
            message: dict[str, Any] = {"role": "assistant", "content": heard.get("content")}
            calls = [
                {
                    "id": str(call["id"]),
                    "type": "function",
                    "function": {
                        "name": str(call["function"]["name"]),
                        "arguments": _text(call["function"].get("arguments")),
                    },
                }
                for call in heard.get("tool_calls") or []
            ]
        except (KeyError, IndexError, TypeError, AttributeError):
            raise InputError("the reply is not a chat completion", where=self._endpoint.where) from None
        if calls:
            message["tool_calls"] = calls
        return message, choice.get("finish_reason") == "length"


def _text(arguments: Any) -> str:
    """Return a call's arguments as JSON text; some servers send the object itself."""
    if not arguments:
        return "{}"
    return arguments if isinstance(arguments, str) else jsontext.dumps(arguments)
