"""A model in the scripted agent's place: any endpoint that speaks OpenAI's chat completions with tools.

Only the standard library is used. The number of turns is bounded, redirects are not followed (the key would travel with
them), and an endpoint that cannot be used is one clear `InputError`.
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

from tallystick.demo.agents import Job
from tallystick.demo.ports import Outcome, Port
from tallystick.demo.schemas import FINISH, SCHEMAS
from tallystick.errors import InputError
from tallystick.model import jsontext

MAX_TURNS: Final = 24
"""Most requests to the endpoint in one run."""
MAX_REPLY: Final = 8_000_000
"""Longest reply read, in bytes."""
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
        try:
            parts = urllib.parse.urlsplit(base_url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # a broken port or address
            usable = False
        if not usable:
            raise InputError(f"`{base_url}` is not an http or https URL", where="--base-url")
        if parts.username or parts.password:
            raise InputError("the URL holds a user name or password", where="--base-url", fix="use --api-key-env")
        if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
            raise InputError("the key holds a line end or another character no header takes", where="--api-key-env")
        self.label = f"model {model}"
        self._model = model
        path = parts.path.rstrip("/") + "/chat/completions"
        self._url = urllib.parse.urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
        self._where = urllib.parse.urlunsplit((parts.scheme, parts.netloc, path, "", ""))  # a query may hold a secret
        self._api_key = api_key
        self._timeout = timeout
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        proxies = (urllib.request.ProxyHandler({}),) if local else ()
        self._opener = urllib.request.build_opener(_NoRedirect, *proxies)

    def run(self, port: Port, job: Job) -> None:
        """Work on `job` through `port` until "done" is accepted, the run is over, or `MAX_TURNS` are spent.

        Raises:
            InputError: the endpoint cannot be reached, refuses, or answers something that is not a chat completion.
        """
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": _SYSTEM},
            {"role": "user", "content": job.request},
        ]
        for _ in range(MAX_TURNS):
            message, truncated = self._turn(messages)
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
        reply = self._post(
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
            raise InputError("the reply is not a chat completion", where=self._where) from None
        if calls:
            message["tool_calls"] = calls
        return message, choice.get("finish_reason") == "length"

    def _post(self, body: Any) -> Any:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._api_key is not None:
            headers["Authorization"] = f"Bearer {self._api_key}"
        request = urllib.request.Request(  # noqa: S310 - the scheme was checked to be http or https
            self._url, data=jsontext.dumps(body).encode("utf-8"), headers=headers, method="POST"
        )
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                raw = response.read(MAX_REPLY + 1)
        except urllib.error.HTTPError as bad:
            fix = "name a variable that holds a key with --api-key-env" if bad.code in (401, 403) else None
            raise InputError(f"the endpoint answered {bad.code} {bad.reason}", where=self._where, fix=fix) from None
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as bad:
            reason = getattr(bad, "reason", bad)
            reason = str(getattr(reason, "strerror", None) or reason).lower()
            raise InputError(
                f"the endpoint cannot be used: {reason}",
                where=self._where,
                fix="check --base-url and that it is running",
            ) from None
        if len(raw) > MAX_REPLY:
            raise InputError(f"the reply is longer than {MAX_REPLY} bytes", where=self._where)
        return jsontext.loads(raw, where=self._where)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _text(arguments: Any) -> str:
    """Return a call's arguments as JSON text; some servers send the object itself."""
    if not arguments:
        return "{}"
    return arguments if isinstance(arguments, str) else jsontext.dumps(arguments)
