"""The structure of contract and task files: which fields there are, and what each may be.

`contract.schema.json` and `task.schema.json` are written from this module (see `schemas`).
"""

from __future__ import annotations

from typing import Any, Final

from tallystick.contracts.shapes import AnyJson, Choice, Fields, Flag, Listing, Named, Shape, Whole, Words

IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_IDENTIFIER_HINT: Final = "letters, digits and `_`, not starting with a digit"
TOOL_NAME: Final = "[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}"
ROLE_ANY: Final = "any"
_WHO: Final = f"the role or id of the principal who may, or `{ROLE_ANY}` for any principal of the run"
_SOME: Final = r"[\s\S]+"
_EXPR: Final = Words(doc="a CEL expression")
_POINTER: Final = "(/([^/~*]|~0|~1)*)*"
_POINTER_STAR: Final = "(/([^/~]|~0|~1)*)*"
_POINTER_HINT: Final = "a JSON Pointer (RFC 6901) such as `/items/0/id`"
DURATION: Final = "[0-9]{1,9} ?(s|m|h|d)"
_DURATION: Final = Words(
    pattern=DURATION, hint="a time such as `30s`, `10m`, `2h` or `1d`", doc="a time: 30s, 10m, 2h, 1d"
)
_TYPE: Final = Words(
    doc="a type", examples=("string", "id", "integer", "decimal", "boolean", "money(EUR)", "instant", "date", "json")
)
_TYPES: Final = Fields(rest=_TYPE, names=IDENTIFIER, hint=_IDENTIFIER_HINT)
_ID: Final = Words(
    pattern="[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", hint="letters, digits, `_`, `.` and `-`", doc="name used in reasons"
)
_ENTITY: Final = Words(doc="an entity", examples=("invoice", "invoice(args.invoice_id)", "each item(args.item_ids)"))


def _pointer(doc: str, *, star: bool = False) -> Words:
    return Words(doc=doc, pattern=_POINTER_STAR if star else _POINTER, hint=_POINTER_HINT)


def _texts(doc: str, item: Shape = _EXPR) -> Choice:
    return Choice(text=item, listing=Listing(item=item, doc=doc, minimum=1))


_YIELD: Final = Fields(
    known={
        "at": _pointer("where the record is in the result; `*` stands for every item", star=True),
        "id": Words(doc="where the id is: a pointer inside the record, or `args.NAME`",
                    pattern=rf"{_POINTER}|args\.{IDENTIFIER}", hint="a JSON Pointer, or `args.NAME`"),
    },
    required=("id",),
    rest=_pointer("where the field is inside the record"),
    names=IDENTIFIER,
    hint=_IDENTIFIER_HINT,
)  # fmt: skip
_REQUIREMENT_FIELDS: Final[dict[str, Shape]] = {
    "id": _ID,
    "fact": Words(doc="a CEL expression over args and entity facts that must be true"),
    "known": _ENTITY,
    "confirmed": _ENTITY,
    "arg": Words(doc="an argument that must equal what a receipt says", pattern=_SOME),
    "equals": Words(doc="`TOOL./POINTER`: where the newest good receipt says it",
                    examples=("pay_invoice./receipt_file",)),
    "read": Words(doc="a tool that must have answered well", pattern=TOOL_NAME),
    "previewed": Listing(item=Words(), minimum=1, doc="arguments in which the preview and the call must agree"),
    "with": Words(doc="a CEL expression over the read's `args` and `result`, or over `args` and `preview`"),
    "approval": Words(doc=f"role whose signed approval is needed, or `{ROLE_ANY}`", pattern=_SOME, hint=_WHO),
    "when": Words(doc="applies only where this CEL expression is true; unknown counts as true"),
    "fresh": Words(doc="`since last write`, or a time", pattern=f"since last write|{DURATION}",
                   hint="`since last write`, or a time such as `10m`"),
    "message": Words(doc="a sentence for the agent"),
}  # fmt: skip
KINDS: Final = ("fact", "known", "confirmed", "arg", "read", "previewed", "approval", "any")
_NEEDS: Final = {"arg": ("equals",), "equals": ("arg",), "with": ("read", "previewed")}
_OPTION: Final = Named(
    name="option", shape=Fields(known=_REQUIREMENT_FIELDS, one_of=tuple(k for k in KINDS if k != "any"), needs=_NEEDS)
)
_REQUIREMENT: Final = Named(
    name="requirement",
    shape=Fields(
        known={**_REQUIREMENT_FIELDS, "any": Listing(item=_OPTION, minimum=1, doc="one of these is enough")},
        required=("id",),
        one_of=KINDS,
        needs=_NEEDS,
    ),
)
_EFFECT: Final = Choice(
    text=Words(
        doc="read, write or preview; `preview unless CONDITION`, `read unless CONDITION` mean write where it holds",
        pattern="(read|write|preview)( unless [^ ].*)?",
        hint="`read`, `write`, `preview`, or `preview unless args.confirm`",
    ),
    mapping=Fields(
        known={
            "read": _EXPR,
            "write": _EXPR,
            "preview": _EXPR,
            "otherwise": Words(one_of=("read", "write", "preview")),
        },
        required=("otherwise",),
        doc="conditions tried in order",
    ),
)
_TOOL: Final = Named(
    name="tool",
    shape=Fields(
        known={
            "effect": _EFFECT,
            "description": Words(doc="what it does"),
            "annotations": AnyJson(doc="MCP annotations; readOnlyHint gives the default effect"),
            "schema": AnyJson(doc="the tool's own JSON Schema for its arguments"),
            "schema_sha256": Words(pattern="[0-9a-f]{64}", hint="64 hexadecimal digits",
                                   doc="digest of the schema reviewed; computed where `schema` is given"),
            "args": Fields(rest=_TYPE, doc="exact types of arguments"),
            "target": _texts("the entities a call addresses", _ENTITY),
            "bind": _texts("further entities, reached through facts", _ENTITY),
            "yields": Fields(rest=Choice(mapping=_YIELD, listing=Listing(item=_YIELD, minimum=1)), names=IDENTIFIER,
                             hint=_IDENTIFIER_HINT, doc="facts a good result establishes, by entity"),
            "once_per": _texts("values that identify the effect"),
            "idempotency_arg": Words(doc="argument that carries an idempotency key", pattern=_SOME),
            "dedupes_by_key": Flag(doc="the tool promises one effect per key"),
            "needs_approval": Words(
                doc=f"role, or `{ROLE_ANY}`",
                pattern=_SOME,
                hint=_WHO,
            ),
            "ok": Words(doc="CEL over result and args: it succeeded"),
            "no_effect": Words(doc="CEL over result and args: nothing happened"),
            "pending": Words(doc="CEL over result and args: not finished yet"),
            "status_at": _pointer("where the status is"),
            "terminal": Listing(item=Words(), minimum=1, doc="statuses that are final"),
            "echoes": Fields(rest=_pointer("where the result repeats the argument"), doc="argument → pointer"),
            "undone_by": _texts("tools whose later success for the same entity unmakes this effect",
                                Words(pattern=TOOL_NAME)),
            "batch": Fields(
                known={
                    "arg": Words(doc="the argument that is the list", pattern=_SOME),
                    "key": _pointer("where the id is in an item"),
                    "results": _pointer("where the answers are", star=True),
                    "result_key": _pointer("where the id is in an answer"),
                    "ok": Words(doc="CEL over `item`: this one succeeded"),
                },
                required=("arg",),
            ),
            "complete": Choice(
                text=Words(one_of=("always",), doc="every answer is complete"),
                mapping=Fields(
                    known={
                        "flag": _pointer("a boolean that says the answer is complete"),
                        "next": _pointer("a next-page marker; complete where it is missing, null, empty or false"),
                        "page_arg": Words(doc="argument that selects the page", pattern=_SOME),
                        "page_size": Whole(doc="items of a full page", minimum=1),
                        "items": _pointer("the list of items"),
                        "degraded": Listing(item=_pointer("a quality flag"), minimum=1),
                    }
                ),
            ),
            "settle": Choice(
                text=Words(doc="`TOOL shows CONDITION`", pattern=r"[^ ].* shows .*[^ ]",
                           hint='`get_invoice shows invoice.status == "paid"`'),
                mapping=Fields(
                    known={
                        "tool": Words(pattern=TOOL_NAME),
                        "shows": _EXPR,
                        "args": Fields(rest=_EXPR, doc="the read's argument → CEL over the doubtful call's args"),
                        "lag": _DURATION,
                    },
                    required=("tool", "shows"),
                ),
            ),
            "requires": Listing(item=_REQUIREMENT, doc="evidence a consequential call needs first"),
            "volatile": Flag(doc="polling it is progress"),
            "lag": _DURATION,
            "secrets": Listing(
                item=Words(pattern=rf"/(args|result){_POINTER_STAR}", hint="a pointer that begins /args or /result"),
                minimum=1,
            ),
        }
    ),
)  # fmt: skip
_CONDITION: Final = Fields(
    known={
        "id": _ID,
        "for": Words(doc="the kind of entity it is about", pattern=IDENTIFIER, hint=_IDENTIFIER_HINT),
        "when": Words(doc="CEL over the entity's facts; without it the condition stands until lifted"),
        "removes": _texts("the tools it removes", Words(pattern=TOOL_NAME)),
        "status": Words(doc="stop status, e.g. do not pay"),
        "prerequisite": Words(doc="what lifts it"),
        "authority": Words(doc="role that can lift it"),
        "fallback": Words(doc="what to do meanwhile"),
        "until": Words(doc="CEL over the entity's facts that lifts it by evidence"),
        "fallback_tools": Listing(item=Words(pattern=TOOL_NAME), minimum=1),
    },
    required=("id", "removes", "status", "prerequisite"),
)
_EXCLUSION: Final = Fields(
    known={
        "id": _ID,
        "tools": Listing(item=Words(pattern=TOOL_NAME), minimum=1),
        "per": Choice(text=_EXPR, mapping=Fields(rest=_EXPR)),
        "message": Words(),
    },
    required=("id", "tools", "per"),
)
_DUTY: Final = Fields(
    known={
        "id": _ID,
        "after": Words(doc="the tool whose success brings it about", pattern=TOOL_NAME),
        "when": Words(doc="CEL over that call's `args` and `result`, facts of the entities it addresses, and `talk`"),
        "owes": _texts("tools of which one must succeed afterwards", Words(pattern=TOOL_NAME)),
        "with": Words(doc="CEL over the later call's `args` and `result`, and `call`, the first call's arguments"),
        "ever": Flag(doc="a success before counts as well as one after"),
        "message": Words(doc="a sentence for the agent"),
    },
    required=("id", "after", "owes"),
)
_TASK: Final = Fields(
    known={
        "inputs": _TYPES,
        "owes": Listing(
            item=Fields(
                known={
                    "id": _ID,
                    "by": Words(doc="tool whose effect discharges it", pattern=TOOL_NAME),
                    "kind": Words(one_of=("event", "state")),
                    "for": _ENTITY,
                    "args": Fields(rest=_EXPR),
                    "fact": Words(doc="CEL that must hold now, for the state kind"),
                    "when": _EXPR,
                    "each": Words(pattern=IDENTIFIER, doc="task input that is a list: one obligation per item"),
                    "text": Words(),
                },
                required=("id",),
            )
        ),
        "answer": Listing(
            item=Fields(
                known={
                    "slot": _ID,
                    "type": _TYPE,
                    "scope": _ENTITY,
                    "dates": Fields(
                        known={
                            "at": Words(
                                doc="where the date is: a pointer inside each item, or `args.NAME`",
                                pattern=rf"{_POINTER}|args\.{IDENTIFIER}",
                                hint="a JSON Pointer, or `args.NAME`",
                            ),
                            "from": Words(doc="CEL over `task`: the first civil date that counts"),
                            "to": Words(doc="CEL over `task`: the last civil date that counts"),
                            "zone": Words(doc="where it is an instant: the zone whose calendar counts", pattern=_SOME),
                        },
                        required=("at", "from", "to"),
                        doc="the period it is about",
                    ),
                    "derive": Words(doc="`TOOL./POINTER`, a function over derivations, or CEL over facts"),
                    "quantifier": Words(one_of=("one", "all", "none", "count")),
                    "required": Flag(),
                },
                required=("slot", "type", "derive"),
            )
        ),
    }
)
CONTRACT: Final = Fields(
    known={
        "contract": Words(doc="name/version", pattern=r"[^\s/]+/[^\s/]+", hint="a name and a version: `pay-invoice/1`"),
        "closed": Flag(doc="refuse tools the contract does not mention unless they only read (default true)"),
        "entities": Fields(rest=_TYPES, names=IDENTIFIER, hint=_IDENTIFIER_HINT, doc="kinds of things, their fields"),
        "tools": Fields(rest=_TOOL, names=TOOL_NAME, hint="letters, digits and `_ . : / -`"),
        "conditions": Listing(item=_CONDITION),
        "exclusive": Listing(item=_EXCLUSION),
        "duties": Listing(item=_DUTY),
        "task": _TASK,
    },
    required=("contract",),
)
TASK_FILE: Final = Fields(
    known={
        "request": Words(doc="what the requester asked, in words"),
        "bindings": AnyJson(doc="task input → value"),
        "principals": Listing(
            item=Fields(
                known={
                    "id": Words(pattern=_SOME),
                    "role": Words(pattern=_SOME),
                    "public_key": Words(pattern="[0-9a-f]{64}", hint="64 hexadecimal digits", doc="Ed25519"),
                },
                required=("id", "role", "public_key"),
            )
        ),
        "need_answer": Flag(doc="whether the contract's answer slots are demanded (default true)"),
    }
)


def json_schema(shape: Shape, title: str) -> dict[str, Any]:
    """Return the published JSON Schema of a whole file."""
    named = {n.name: n.shape.schema() for n in (_OPTION, _REQUIREMENT, _TOOL)} if shape is CONTRACT else {}
    out: dict[str, Any] = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **shape.schema()}
    if named:
        out["$defs"] = named
    return out
