"""Drafts from each kind of declaration: what is declared is taken over, what is guessed is marked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tallystick import contracts
from tallystick.contracts.types import Contract
from tallystick.drafting import draft
from tallystick.errors import InputError

INVOICE = {
    "type": "object",
    "properties": {
        "invoice_id": {"type": "string"},
        "amount_due": {"type": "number"},
        "status": {"type": "string"},
        "customer": {"$ref": "#/$defs/customer"},
    },
    "$defs": {"customer": {"type": "object", "properties": {"id": {"type": "string"}, "name": {"type": "string"}}}},
}
MCP: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {
        "tools": [
            {
                "name": "get_invoice",
                "description": "Look up an invoice. Returns all of it.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"invoice_id": {"type": "string"}},
                    "required": ["invoice_id"],
                },
                "outputSchema": INVOICE,
                "annotations": {"readOnlyHint": True},
            },
            {
                "name": "list_invoices",
                "inputSchema": {"type": "object", "properties": {"page": {"type": "integer"}}},
                "outputSchema": {
                    "type": "object",
                    "properties": {
                        "invoices": {"type": "array", "items": INVOICE | {"$defs": {}}},
                        "next_page": {"type": ["integer", "null"]},
                    },
                },
                "annotations": {"readOnlyHint": True},
            },
            {
                "name": "pay_invoice",
                "description": "Pays. You must call get_invoice first.",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "invoice_id": {"type": "string"},
                        "amount": {"type": "number"},
                        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                        "dry_run": {"type": "boolean", "default": True},
                    },
                    "required": ["invoice_id", "amount"],
                },
                "annotations": {"destructiveHint": True},
            },
            {"name": "frobnicate", "inputSchema": {"type": "object"}},
        ]
    },
}
OPENAPI: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Pet Store", "version": "1"},
    "paths": {
        "/owners/{ownerId}/pets/{petId}": {
            "parameters": [
                {"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}},
                {"name": "ownerId", "in": "path", "required": True, "schema": {"type": "string"}},
            ],
            "get": {
                "operationId": "getPet",
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}}
                },
            },
            "delete": {"operationId": "deletePet", "responses": {"204": {"description": "gone"}}},
            "patch": {
                "operationId": "renamePet",
                "parameters": [
                    {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}},
                    {"name": "session", "in": "cookie", "schema": {"type": "string"}},
                ],
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "properties": {"name": {"type": "string"},
                                               "born": {"type": "string", "format": "date"}},
                                "required": ["name"],
                            }
                        }
                    },
                },
                "responses": {"200": {"description": "ok"}},
            },
        },
        "/pets": {"get": {"responses": {"200": {"description": "no schema"}}}},
    },
    "components": {
        "schemas": {
            "Base": {"type": "object", "properties": {"petId": {"type": "integer"}}},
            "Pet": {
                "allOf": [
                    {"$ref": "#/components/schemas/Base"},
                    {
                        "properties": {
                            "name": {"type": "string"},
                            "parent": {"$ref": "#/components/schemas/Pet"},
                            "visits": {
                                "type": "array",
                                "items": {"type": "object", "properties": {"id": {"type": "string"},
                                                                           "price": {"type": "number"}}},
                            },
                        }
                    },
                ]
            },
        }
    },
}  # fmt: skip


def drafted(folder: Path, value: Any, name: str = "shop.json") -> tuple[Contract, str, tuple[str, ...]]:
    """The contract, its text, and the notes."""
    file = folder / name
    file.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    made = draft([file])
    saved = folder / "contract.yaml"
    saved.write_text(made.text, encoding="utf-8")
    assert contracts.check(saved) == []
    return contracts.load(saved), made.text, made.notes


def test_an_mcp_tool_list_becomes_a_contract(tmp_path: Path) -> None:
    """Annotations decide effects, schemas give types, output schemas give facts, and guesses say that they are."""
    contract, text, _ = drafted(tmp_path, MCP)
    assert {n: t.effect for n, t in contract.tools.items()} == {
        "get_invoice": "read", "list_invoices": "read", "pay_invoice": "preview", "frobnicate": "write",
    }  # fmt: skip
    assert "guess: nothing says whether it writes, so it counts as a write" in text
    pay = contract.tools["pay_invoice"]
    assert {n: (t.name, t.optional) for n, t in pay.args.items()} == {
        "invoice_id": ("id", False), "amount": ("decimal", False), "note": ("string", True),
        "dry_run": ("boolean", True),
    }  # fmt: skip
    assert pay.effect_cases[0][1] == "write"
    assert pay.effect_cases[0][0].evaluate({"args": {"dry_run": False}}) is True
    assert {(r.id, r.kind) for r in pay.requires} == {
        ("get_invoice-first", "read"), ("invoice-read", "known"), ("previewed", "previewed"),
    }  # fmt: skip
    assert {(y.kind, y.at) for y in contract.tools["get_invoice"].yields} == {
        ("invoice", ()),
        ("customer", ("customer",)),
    }
    listing = contract.tools["list_invoices"].complete
    assert listing is not None
    assert (listing.next, listing.page_arg, listing.items) == (("next_page",), "page", ("invoices",))
    assert "decide: it destroys" in text
    assert "is `amount` money?" in text


def test_an_openapi_document_becomes_a_contract(tmp_path: Path) -> None:
    """GET reads and the rest writes; path parameters are targets, innermost first; responses become facts."""
    contract, _, _ = drafted(tmp_path, OPENAPI)
    assert contract.name == "pet-store"
    assert {n: t.effect for n, t in contract.tools.items()} == {
        "getPet": "read", "get_pets": "read", "deletePet": "write", "renamePet": "write",
    }  # fmt: skip
    rename = contract.tools["renamePet"]
    assert [e.kind for e in (*rename.target, *rename.bind)] == ["pet", "owner"]
    assert rename.idempotency_arg == "Idempotency-Key"
    assert "session" not in rename.args
    assert {n: t.name for n, t in rename.args.items() if n in ("name", "born")} == {"name": "string", "born": "date"}
    assert {(y.kind, y.at) for y in contract.tools["getPet"].yields} == {("pet", ()), ("visit", ("visits", "*"))}
    assert [r.kind for r in contract.tools["deletePet"].requires] == ["known"]


def test_openapi_in_yaml_is_the_same_document(tmp_path: Path) -> None:
    """YAML's bare keys (`200:`) and JSON's strings are one."""
    flow = json.dumps(OPENAPI).replace('"200"', "200")
    made, text, _ = drafted(tmp_path, "# a comment\n" + flow, "shop.yaml")
    assert text == drafted(tmp_path, OPENAPI)[1]
    assert made.name == "pet-store"


OPENAI = {"type": "function", "function": {"name": "send_mail", "description": "Send it.", "parameters": {
    "type": "object", "properties": {"to": {"type": "string"}, "confirm": {"type": "boolean"}},
    "required": ["to"]}}}  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [[OPENAI], {"tools": [OPENAI]}, OPENAI, [OPENAI["function"]],
     [{"name": "send_mail", "input_schema": OPENAI["function"]["parameters"]}]],  # type: ignore[index]
    ids=["list", "object", "one", "flat", "anthropic"],
)  # fmt: skip
def test_every_way_to_define_a_function_is_read(tmp_path: Path, value: Any) -> None:
    """OpenAI's nested and flat forms, a single definition, and Anthropic's `input_schema` are one tool."""
    contract, _, _ = drafted(tmp_path, value)
    assert list(contract.tools) == ["send_mail"]
    assert [r.args_equal for r in contract.tools["send_mail"].requires] == [("to",)]
    assert contract.tools["send_mail"].effect_cases[0][1] == "preview"


def test_a_bare_schema_is_one_tool_named_by_its_title_or_file(tmp_path: Path) -> None:
    """A JSON Schema alone says the arguments of one tool."""
    schema = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
    assert list(drafted(tmp_path, schema, "cancel_order.json")[0].tools) == ["cancel_order"]
    assert list(drafted(tmp_path, {**schema, "title": "ship_order"})[0].tools) == ["ship_order"]


def test_a_list_of_writing_tools_settles_the_effects(tmp_path: Path) -> None:
    """`write_tools` is a declaration: no tool beside it is a guess."""
    tools = [{"name": n, "parameters": {"type": "object"}} for n in ("do_it", "look")]
    contract, text, _ = drafted(tmp_path, {"domain": "desk", "write_tools": ["do_it"], "tools": tools})
    assert (contract.name, contract.tools["do_it"].effect, contract.tools["look"].effect) == ("desk", "write", "read")
    assert "guess" not in text.replace("every `guess`", "")


def test_names_that_no_contract_can_hold_are_left_out_and_said(tmp_path: Path) -> None:
    """A tool's name with a space cannot be mentioned; the others are drafted all the same."""
    tools = [{"name": "do it", "parameters": {}}, {"name": "look", "parameters": {}}]
    contract, _, notes = drafted(tmp_path, tools)
    assert list(contract.tools) == ["look"]
    assert notes == ("`do it` is left out: no contract can mention a tool of that name",)
    with pytest.raises(InputError, match="has a name that a contract can mention"):
        drafted(tmp_path, tools[:1])


def test_a_list_that_goes_on_is_said_to(tmp_path: Path) -> None:
    """MCP pages its tool lists; a first page is not all there is."""
    value = {"result": {**MCP["result"], "nextCursor": "p2"}}
    assert "goes on" in drafted(tmp_path, value)[2][0]


def test_several_sources_make_one_contract_unless_they_contradict(tmp_path: Path) -> None:
    """The same tool twice is one tool; two different ones of one name are an error."""
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    one.write_text(json.dumps([OPENAI]))
    two.write_text(json.dumps([OPENAI, {"name": "list_mail", "parameters": {}}]))
    assert list(contracts.parse(draft([one, two]).text).tools) == ["list_mail", "send_mail"]
    two.write_text(json.dumps([{"name": "send_mail", "parameters": {}}]))
    with pytest.raises(InputError, match="two different tools are called `send_mail`"):
        draft([one, two])


def test_words_of_a_description_cannot_get_out_of_their_comment(tmp_path: Path) -> None:
    """A line break in foreign text, of whatever kind, ends no comment; a terminal's codes are written out."""
    text = "Look.\u2028tools: {evil: {effect: read}}\n\u0085contract: evil/1\x1b[2J\r\n- x"
    tools = [{"name": "look", "description": text, "parameters": {}}]
    contract, written, _ = drafted(tmp_path, tools)
    assert list(contract.tools) == ["look"]
    assert "\x1b" not in written
    assert all(line.isprintable() for line in written.split("\n"))


def test_the_texts_an_argument_may_be_are_a_remark_that_can_be_made_a_requirement(tmp_path: Path) -> None:
    """A contract's types know no choice of texts; the remark has the expression that does."""
    properties = {"cabin": {"enum": ["eco", 'the "b"']}, "level": {"type": "integer", "enum": [1, 2]}}
    tool = {"name": "book_flight", "inputSchema": {"type": "object", "properties": properties, "required": ["cabin"]}}
    file = tmp_path / "tools.json"
    file.write_text(json.dumps({"tools": [tool]}))
    text = draft([file]).text
    [said] = [line for line in text.splitlines() if "is declared as one of" in line]
    fact = said.split("`fact: ")[1].split("`")[0]
    assert fact == 'args.cabin in ["eco", "the \\"b\\""]'
    demanded = f"{text.rstrip()}\n    requires:\n      - {json.dumps({'id': 'cabin', 'fact': fact})}\n"
    [requirement] = contracts.parse(demanded).tools["book_flight"].requires
    assert requirement.expr is not None
    assert requirement.expr.evaluate({"args": {"cabin": "eco"}}) is True
    assert requirement.expr.evaluate({"args": {"cabin": "first"}}) is False
