"""Secret fields in a takeover: the record and the gates see marks, the live tools get the values.

Arguments of a proposal that the contract marks secret are replaced before anything is judged or stored, as those of any
call are; what a mark stands for is kept in memory for as long as the tenure lasts.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.events import Blob, blob
from tallystick.model.redact import PREFIX, redact, redact_value
from tallystick.model.residual import FROM
from tallystick.runtime.results import ToolResult, json_of
from tallystick.runtime.secrets import secret_in

_MARK: Final = re.compile(re.escape(PREFIX) + "[0-9a-f]{64}")
_WHOLE: Final[tuple[str, ...]] = ()


class Vault:
    """What the marks of one tenure stand for."""

    def __init__(self, contract: Contract, key: bytes | None) -> None:
        self._contract = contract
        self._key = key
        self._values: dict[str, Any] = {}
        self._guards_args = any(secret_in(tool, "args") for tool in contract.tools.values())

    def take_proposal(self, raw: bytes) -> Blob:
        """Return a proposal as the record keeps it, and remember what its marks stand for."""
        if self._key is None or not self._guards_args:
            return blob(raw)
        try:
            value = jsontext.loads(raw)
        except InputError:
            value = None
        calls = value.get("calls") if isinstance(value, dict) else None
        if not isinstance(calls, list) or not all(_is_call(call) for call in calls):
            return redact(raw, [_WHOLE], self._key)  # nobody can say where in it a secret is
        places: list[tuple[str, ...]] = []
        for at, call in enumerate(calls):
            for path, secret in self._found(call["tool"], "args", call.get("args", {})):
                places.append(("calls", str(at), "args", *path))
                self._note(secret)
        return redact(raw, places, self._key)

    def take_result(self, tool: str, value: Any) -> None:
        """Remember what the marks of a live receipt stand for."""
        if self._key is None or not secret_in(self._contract.tools.get(tool), "result"):
            return
        try:
            exact, _ = json_of(value.value if isinstance(value, ToolResult) else value)
        except InputError:
            return
        if isinstance(exact, str):  # JSON as text: its receipt is read, and marked, as JSON
            with contextlib.suppress(InputError):
                exact = jsontext.loads(exact)
        for _, secret in self._found(tool, "result", exact):
            self._note(secret)

    def restore(self, value: Any) -> Any:
        """Return `value` with the secrets in the place of their marks.

        Raises:
            InputError: a mark nobody in this tenure knows the value of.
        """
        if isinstance(value, str) and self._key is not None and _MARK.fullmatch(value):
            if value not in self._values:
                raise InputError("a secret of an earlier receipt, of which only its mark is kept", fix="ask for it")
            return self._values[value]
        if isinstance(value, Mapping):
            return {name: self.restore(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.restore(item) for item in value]
        return value

    def _note(self, secret: Any) -> None:
        assert self._key is not None
        self._values[redact_value(secret, [_WHOLE], self._key)] = secret

    def _found(self, tool: str, part: Any, value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
        for tokens in secret_in(self._contract.tools.get(tool), part):
            yield from _places(value, tokens, ())


def _is_call(call: object) -> bool:
    return isinstance(call, dict) and isinstance(call.get("tool"), str) and isinstance(call.get("args", {}), dict)


def _places(value: Any, tokens: tuple[str, ...], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and FROM in value:
        return  # a reference: the value is not here
    if not tokens or isinstance(value, str):
        yield path, value
        return
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        if tokens[0] in ("*", str(name)):
            yield from _places(item, tokens[1:], (*path, str(name)))
