"""The published JSON Schema of a certificate's statement, written from its types.

`python -m tallystick.certificates.schema` writes the file anew after a change, and a test compares them. A schema says
what a statement looks like; whether it holds is for the check.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.model.certificate import PREDICATE_TYPE, STATEMENT_TYPE, Certificate

FILE: Final = Path(__file__).parent / "certificate.schema.json"
_HEX64: Final = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_WHOLE: Final = {
    "_type": {"const": STATEMENT_TYPE},
    "predicateType": {"const": PREDICATE_TYPE},
    "predicate": {"$ref": "#/$defs/Certificate"},
    "subject": {
        "type": "array",
        "minItems": 1,
        "maxItems": 1,
        "items": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "pattern": "^run:"},
                "digest": {
                    "type": "object",
                    "properties": {"sha256": _HEX64},
                    "required": ["sha256"],
                    "additionalProperties": False,
                },
            },
            "required": ["name", "digest"],
            "additionalProperties": False,
        },
    },
}


def schema_text() -> str:
    """Return the JSON Schema (2020-12) of the in-toto Statement that a certificate is."""
    _, parts = msgspec.json.schema_components([Certificate], ref_template="#/$defs/{name}")
    for part in parts.values():
        # A statement is canonical, so every member stands in it, also one that has its default value.
        part["required"] = list(part["properties"])
        for member in part["properties"].values():
            member.pop("default", None)
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Statement of a tallystick certificate ({PREDICATE_TYPE})",
        "type": "object",
        "properties": _WHOLE,
        "required": sorted(_WHOLE),
        "additionalProperties": False,
        "$defs": parts,
    }
    return json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the schema file beside this module."""
    FILE.write_text(schema_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
