"""The published JSON Schemas of contract and task files, for editors.

They are written from `structure`, which is also what the loader checks with; `python -m tallystick.contracts.schemas`
writes the files anew after a change, and a test compares them.
"""

from __future__ import annotations

import json
from pathlib import Path

from tallystick.contracts.structure import CONTRACT, TASK_FILE, json_schema


def schema_texts() -> dict[str, str]:
    """Return file name → text of each published JSON Schema."""
    made = {
        "contract.schema.json": json_schema(CONTRACT, "tallystick contract"),
        "task.schema.json": json_schema(TASK_FILE, "tallystick task"),
    }
    return {name: json.dumps(schema, indent=1, ensure_ascii=False) + "\n" for name, schema in made.items()}


def main() -> None:
    """Write the schema files beside this module."""
    for name, text in schema_texts().items():
        (Path(__file__).parent / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
