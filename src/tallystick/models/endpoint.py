"""Asking an endpoint that speaks OpenAI's chat completions. Only the standard library is used.

Redirects are not followed (the key would travel with them), a proxy is not used for loopback, replies are bounded, and
an endpoint that cannot be used is one clear `InputError` that shows neither the key nor the URL's query.
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.model import jsontext

MAX_REPLY: Final = 8_000_000
"""Longest reply read, in bytes."""


class ContextFullError(InputError):
    """The conversation no longer fits the model's context. Nothing is wrong with the endpoint."""


class ChatEndpoint:
    """An OpenAI-compatible endpoint.

    Args:
        base_url: e.g. `http://127.0.0.1:8080/v1`; `/chat/completions` is appended to its path, a query is kept.
        api_key: sent as a bearer token; None sends none.
        timeout: seconds to wait for one reply.

    Attributes:
        where: the URL without its query, for messages.

    Raises:
        InputError: the URL is not http(s), or holds a user name or password; the key is not plain printable text.
    """

    def __init__(self, *, base_url: str, api_key: str | None = None, timeout: int = 120) -> None:
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
        path = parts.path.rstrip("/") + "/chat/completions"
        self._url = urllib.parse.urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
        self.where = urllib.parse.urlunsplit((parts.scheme, parts.netloc, path, "", ""))  # a query may hold a secret
        self._api_key = api_key
        self._timeout = timeout
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        proxies = (urllib.request.ProxyHandler({}),) if local else ()
        self._opener = urllib.request.build_opener(_NoRedirect, *proxies)

    def complete(self, body: Mapping[str, Any]) -> Any:
        """Post one chat completion request and return the reply as exact JSON values.

        Raises:
            ContextFullError: the conversation is longer than the model's context.
            InputError: the endpoint cannot be reached, refuses, or answers something that is not JSON.
        """
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
            if bad.code == 400 and _is_context_full(bad):
                raise ContextFullError(
                    "the conversation is longer than the model's context", where=self.where
                ) from None
            fix = "name a variable that holds a key with --api-key-env" if bad.code in (401, 403) else None
            raise InputError(f"the endpoint answered {bad.code} {bad.reason}", where=self.where, fix=fix) from None
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as bad:
            reason = getattr(bad, "reason", bad)
            reason = str(getattr(reason, "strerror", None) or reason).lower()
            raise InputError(
                f"the endpoint cannot be used: {reason}",
                where=self.where,
                fix="check --base-url and that it is running",
            ) from None
        if len(raw) > MAX_REPLY:
            raise InputError(f"the reply is longer than {MAX_REPLY} bytes", where=self.where)
        return jsontext.loads(raw, where=self.where)

    def constrained(
        self, model: str, messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any], *, max_tokens: int = 256
    ) -> Any:
        """Return the JSON value that `model` answers under `schema` (JSON Schema), at temperature 0.

        The endpoint constrains the words to the schema's grammar: the shape is given, the content is as good as the
        model.

        Raises:
            InputError: the endpoint cannot be used, or the answer was cut before it was whole.
        """
        shape = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
        reply = self.complete(
            {
                "model": model,
                "messages": list(messages),
                "response_format": shape,
                "temperature": 0,
                "max_tokens": max_tokens,
                "stream": False,
            }
        )
        try:
            text = reply["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            raise InputError("the reply is not a chat completion", where=self.where) from None
        return jsontext.loads(text or "", where=self.where)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _is_context_full(bad: urllib.error.HTTPError) -> bool:
    """Whether the refusal is one for length: llama.cpp's type of it, or OpenAI's code."""
    try:
        error = jsontext.loads(bad.read(MAX_REPLY))["error"]
        return bool(error.get("type") == "exceed_context_size_error" or error.get("code") == "context_length_exceeded")
    except (InputError, OSError, KeyError, TypeError, AttributeError):
        return False
