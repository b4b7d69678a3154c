"""Tool schemas as an agent is given them: name, description, parameters as JSON Schema."""

from __future__ import annotations

from typing import Any

from tallystick.evals.evidence.case import LABELS, SUBMIT
from tallystick.evals.evidence.world import Action, ReadTool, World

Schema = dict[str, Any]


def _object(properties: dict[str, Schema], required: list[str]) -> Schema:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def read_schema(place: World, tool: ReadTool) -> Schema:
    """Return the schema of a read tool."""
    kind = place.kinds[tool.kind]
    name = kind.name.replace("_", " ")
    if tool.index:
        about = f"Search last night's index of {name} records" + (f" by {tool.by}." if tool.by else ".")
    elif tool.every:
        about = f"List all {name} records as they are now."
    elif tool.by:
        about = f"List the {name} records with a given {tool.by} as they are now."
    else:
        about = f"Read one {name} record as it is now, by {kind.id}."
    if tool.every:
        return {"name": tool.name, "description": about, "parameters": _object({}, [])}
    key = tool.by or kind.id
    return {"name": tool.name, "description": about, "parameters": _object({key: {"type": "string"}}, [key])}


def type_of(place: World, path: str) -> str:
    """Return how values of `alias.field` are drawn, following `same`: the first word of the spec, or `id`."""
    alias, _, name = path.partition(".")
    kind = place.kind_of(alias)
    if name == kind.id:
        return "id"
    how = place.fields_of(kind.name)[name]
    return type_of(place, how[5:]) if how.startswith("same ") else how.split()[0].replace("ref", "id")


def action_schema(place: World, action: Action) -> Schema:
    """Return the schema of a consequential tool. Its description names every condition in words."""
    properties: dict[str, Schema] = {}
    for name, path in place.arguments(action).items():
        kind = type_of(place, path)
        if kind == "int":
            properties[name] = {"type": "integer"}
        elif kind == "money":
            properties[name] = {"type": "string", "description": "an amount in euros, such as 12.50"}
        else:
            properties[name] = {"type": "string"}
    required = list(properties)
    for noun in place.cites(action):
        properties[f"{noun}_id"] = {"type": "string", "description": f"the {noun} it follows from, if it does"}
    conditions = [need.words for need in action.needs]
    if action.subject:
        subject = place.kind_of(action.subject).name
        conditions.insert(0, f"the {subject} is the one the {place.noun} is about")
    if place.cites(action):
        conditions.append("it cites what it follows from, by the id that was returned")
    about = f"{action.about} Conditions: {'; '.join(conditions)}. Returns {action.noun}_id."
    return {"name": action.name, "description": about, "parameters": _object(properties, required)}


def submit_schema(kind: str) -> Schema:
    """Return the schema of the tool that ends a case."""
    return {
        "name": SUBMIT,
        "description": "End the task with a label. Changes nothing.",
        "parameters": _object(
            {"label": {"type": "string", "enum": list(LABELS[kind])}, "note": {"type": "string"}}, ["label"]
        ),
    }
