"""What the server says its tools are: compared with what the contract was reviewed against, page by page.

A tool whose schema or annotations are not those of the review is recorded as `schema.changed`, and the act gate judges
by it from then on. Where the contract names no schema, the first listing of the session is what later ones are compared
with. Our own two tools are appended to the first page; every other byte of a page stays as it came.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.gateway.own import Own
from tallystick.model import jsontext
from tallystick.model.canonical import canonical, digest
from tallystick.model.exact import tagged
from tallystick.runtime.run import Run

NOTHING_FITS: Final[Mapping[str, Any]] = {"not": {}}
"""Stands for a schema that cannot be read exactly: no call fits it."""


class _Hints(msgspec.Struct):
    read_only: Any = msgspec.field(default=None, name="readOnlyHint")
    destructive: Any = msgspec.field(default=None, name="destructiveHint")


class _Tool(msgspec.Struct):
    name: str
    input_schema: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"{}"), name="inputSchema")
    output_schema: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"null"), name="outputSchema")
    annotations: _Hints | None = None


_TOOL: Final = msgspec.json.Decoder(_Tool)
_PAGE: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TOOLS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_CURSOR: Final = msgspec.json.Decoder(str | None)
_ENCODER: Final = msgspec.json.Encoder()


class Listing:
    """The server's tools as far as this session has seen them.

    Attributes:
        stale: no complete listing since the start or since the server said that the list had changed; calls wait
            until there is one.
        changes: how often the server said so.
        with_output_schema: tools whose results clients check against a schema.
    """

    def __init__(self, run: Run, own: Own) -> None:
        self.stale = True
        self.changes = 0
        self.with_output_schema: set[str] = set()
        self._run = run
        self._own = own
        self._expected = _reviewed(run.contract)
        # What the record says already (a resumed run) need not be said again.
        self._recorded = {tool: (body.sha256, body.effect) for tool, (_, body) in run.view.schema_changes.items()}

    def page(self, result: bytes) -> str | None:
        """Take in one page and return its next cursor, None for the last page.

        Raises:
            msgspec.DecodeError: it is no page of tools.
        """
        members = _PAGE.decode(result)
        for raw in _TOOLS.decode(members["tools"]) if "tools" in members else []:
            tool = _TOOL.decode(raw)
            self._own.avoid(tool.name)
            if bytes(tool.output_schema) != b"null":
                self.with_output_schema.add(tool.name)
            else:
                self.with_output_schema.discard(tool.name)
            self._compare(tool)
        return _CURSOR.decode(members["nextCursor"]) if "nextCursor" in members else None

    def with_own(self, line: bytes) -> bytes:
        """Return the line of a page with our own tools appended; all else keeps its bytes.

        Raises:
            msgspec.DecodeError: it is no such line.
        """
        message = _PAGE.decode(line)
        result = _PAGE.decode(message["result"])
        tools = _TOOLS.decode(result["tools"]) if "tools" in result else []
        tools.extend(msgspec.Raw(jsontext.dumps(d).encode("utf-8")) for d in self._own.definitions())
        result["tools"] = msgspec.Raw(_ENCODER.encode(tools))
        message["result"] = msgspec.Raw(_ENCODER.encode(result))
        return _ENCODER.encode(message) + b"\n"

    def _compare(self, tool: _Tool) -> None:
        known = self._run.contract.tools.get(tool.name)
        if known is None:
            return
        try:
            schema = jsontext.loads(bytes(tool.input_schema))
            schema = schema if isinstance(schema, dict) else NOTHING_FITS
            sha256 = digest(canonical(tagged(schema)))
        except (InputError, ValueError):
            schema, sha256 = NOTHING_FITS, digest(bytes(tool.input_schema))
        # Hints come from the server: they can make a call more consequential than the contract says, never less.
        hints = tool.annotations
        dangerous = hints is not None and (hints.read_only is False or hints.destructive is True)
        effect = "write" if dangerous and known.effect == "read" and not known.effect_cases else None
        expected = self._expected.setdefault(tool.name, sha256)
        if (sha256, effect) == self._recorded.get(tool.name, (expected, None)):
            return
        try:
            self._run.schema_changed(tool.name, schema, effect=effect)
        except InputError:
            return  # the run is over, and runs nothing any more
        self._recorded[tool.name] = (sha256, effect)


def _reviewed(contract: Contract) -> dict[str, str]:
    return {name: tool.schema_sha256 for name, tool in contract.tools.items() if tool.schema_sha256 is not None}
