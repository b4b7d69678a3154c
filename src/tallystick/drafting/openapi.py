"""OpenAPI 3 documents: each operation is a tool.

GET, HEAD and OPTIONS read (RFC 9110 section 9.2.1, safe methods); every other method writes. Path parameters name the
resource addressed; the first 2xx response with JSON says what a result looks like. PUT and DELETE are idempotent
(section 9.2.2). Nothing is fetched: a reference outside the document is read as "anything".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tallystick.drafting.refs import Resolver
from tallystick.drafting.spec import ToolSpec
from tallystick.errors import InputError

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_SAFE: Final = ("get", "head", "options", "trace", "query")
_ANYTHING: Final[Mapping[str, Any]] = {}


def is_openapi(value: Any) -> bool:
    """Return whether a document calls itself OpenAPI (or its predecessor Swagger)."""
    return isinstance(value, Mapping) and ("openapi" in value or "swagger" in value)


def operations(document: Mapping[str, Any], where: str) -> list[ToolSpec]:
    """Return the operations of a document as tools, in its order.

    Raises:
        InputError: not OpenAPI 3, or it has no operation.
    """
    version = document.get("openapi")
    if not isinstance(version, str) or not version.startswith("3"):
        stated = version if version is not None else document.get("swagger")
        raise InputError(f"OpenAPI `{str(stated)[:20]}` is not read", where=where, fix="convert it to OpenAPI 3")
    refs = Resolver(document)
    found = []
    paths = document.get("paths")
    for path, item in (paths if isinstance(paths, Mapping) else {}).items():
        entry = refs.follow(item)
        for method in _METHODS:
            operation = entry.get(method)
            if isinstance(operation, Mapping):
                found.append(_operation(refs, path, method, entry, operation))
    if not found:
        raise InputError("the document has no operations", where=where, fix="give it `paths` with methods")
    return found


def _operation(
    refs: Resolver, path: str, method: str, item: Mapping[str, Any], operation: Mapping[str, Any]
) -> ToolSpec:
    properties: dict[str, Any] = {}
    required: list[str] = []
    in_path = []
    for parameter in _parameters(refs, item, operation):
        name, place = parameter["name"], parameter.get("in")
        if place == "cookie" or (place == "header" and "idempotency" not in name.lower()):
            continue  # the client's business, not an argument that an agent chooses
        schema = parameter.get("schema")
        properties[name] = refs.schema(schema if isinstance(schema, Mapping) else _ANYTHING)
        if place == "path":
            in_path.append(name)
        if place == "path" or parameter.get("required") is True:
            required.append(name)
    body = refs.follow(operation.get("requestBody"))
    for name, schema, needed in _body(body, refs):
        properties.setdefault(name, schema)
        if needed and name not in required:
            required.append(name)
    stated = operation.get("operationId")
    name = stated if isinstance(stated, str) and stated else f"{method} {path}"
    text = operation.get("summary") or operation.get("description")
    safe = method in _SAFE
    order = {name: i for i, name in enumerate(re.findall(r"\{([^}]+)\}", path))}
    fixed = [part for part in path.split("/") if part and "{" not in part]
    return ToolSpec(
        name=re.sub(r"[^A-Za-z0-9_.:-]+", "_", name).strip("_")[:128],
        description=text if isinstance(text, str) else "",
        schema={"type": "object", "properties": properties, "required": required},
        output=_response(operation, refs),
        writes=not safe,
        because=f"{method.upper()} {'is safe' if safe else 'may change something'}",
        targets=tuple(sorted(in_path, key=lambda n: order.get(n, len(order)))),
        idempotent=method in ("put", "delete"),
        destructive=method == "delete",
        noun=fixed[-1] if fixed else "",
    )


def _parameters(refs: Resolver, item: Mapping[str, Any], operation: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the parameters of an operation; its own win over those of its path."""
    found: dict[tuple[str, Any], Mapping[str, Any]] = {}
    for holder in (item, operation):
        listed = holder.get("parameters")
        for entry in listed if isinstance(listed, list) else ():
            parameter = refs.follow(entry)
            if isinstance(parameter.get("name"), str):
                found[parameter["name"], parameter.get("in")] = parameter
    yield from found.values()


def _body(body: Mapping[str, Any], refs: Resolver) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
    schema = _json_schema(body, refs)
    if schema is None:
        return
    needed = schema.get("required")
    wanted = needed if isinstance(needed, list) and body.get("required") is True else []
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and properties:
        for name, inner in properties.items():
            yield name, inner if isinstance(inner, Mapping) else _ANYTHING, name in wanted
    else:
        yield "body", schema, body.get("required") is True


def _response(operation: Mapping[str, Any], refs: Resolver) -> Mapping[str, Any] | None:
    responses = operation.get("responses")
    listed = responses if isinstance(responses, Mapping) else {}
    for code in sorted(c for c in listed if isinstance(c, str) and c.startswith("2")):
        schema = _json_schema(refs.follow(listed[code]), refs)
        if schema is not None:
            return schema
    return None


def _json_schema(holder: Mapping[str, Any], refs: Resolver) -> Mapping[str, Any] | None:
    content = holder.get("content")
    for media, entry in (content if isinstance(content, Mapping) else {}).items():
        if "json" in media and isinstance(entry, Mapping) and isinstance(entry.get("schema"), Mapping):
            return refs.schema(entry["schema"])
    return None
