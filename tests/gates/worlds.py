"""Small random worlds: a contract, a task, a run's events and one proposed call. The same seed gives the same world."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tallystick.contracts.types import Contract, Task
from tallystick.model import jsontext
from tallystick.model.events import (
    Approval,
    Confirmation,
    DoubtSettled,
    Ended,
    Intent,
    Lifted,
    Obliged,
    OperationClosed,
    Raised,
    Receipt,
    Reported,
    Role,
    Said,
    SchemaChanged,
    Sealed,
    Settled,
    Started,
    Stated,
    Tenure,
    Wish,
)
from tallystick.model.exact import args_digest
from tallystick.model.proposal import Call
from tallystick.model.values import instant_of
from tallystick.view import View
from tests.gates.worlds_kit import (
    AMOUNTS,
    INVOICES,
    RUN,
    VENDORS,
    Log,
    contract_of,
    instant_text,
    signed,
    task_of,
    text_blob,
)

CONTRACTS: Final = 400
WRITES: Final = ("pay", "refund", "send")


@dataclass(frozen=True, kw_only=True)
class World:
    """Everything a gate may look at, and the call somebody wants to run."""

    seed: int
    contract: Contract
    task: Task
    events: tuple[Sealed, ...]
    call: Call

    def view(self, events: Sequence[Sealed] | None = None) -> View:
        """Fold the events (or others in their place) from scratch."""
        view = View(self.contract, self.task, run=RUN)
        for event in self.events if events is None else events:
            view.apply(event)
        return view


def world(seed: int, *, real: bool = False) -> World:
    """Return the world of a seed."""
    return _Maker(seed, real=real).make()


class _Maker:
    def __init__(self, seed: int, *, real: bool) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.contract = contract_of(self.rng.randrange(CONTRACTS))
        self.task = task_of(self.rng)
        self.log = Log(real=real)
        self.imported = self.rng.random() < 0.6
        self.open: list[str] = []
        self.receipts: list[str] = []
        self.doubtful: list[str] = []
        self.calls = 0
        self.epoch = 0
        tool = self.pick("pay", "pay", "pay", "refund", "send", "pay_many", "pay_many")
        self.focus = (tool, self.args(tool, self.rng.choice(INVOICES[:2])))

    def pick(self, *options: Any) -> Any:
        return self.rng.choice(options)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    # ------------------------------------------------------------ arguments

    def args(self, tool: str, invoice: str) -> dict[str, Any]:
        if tool == "get_vendor":
            return {"vendor_id": self.pick(*VENDORS)}
        if tool == "get_policy":
            return {"topic": self.pick("pay", "pay", "refund")}
        if tool in ("list_invoices", "shell"):
            return {}
        if tool == "get_invoice":
            return {"invoice_id": invoice}
        if tool == "pay_many":
            items: list[Any] = self.rng.sample(INVOICES, self.pick(1, 2, 2))
            if self.chance(0.08):
                items.append(self.pick(items[0], {"no": "id"}, 7))
            return {"invoice_ids": items}
        args: dict[str, Any] = {"invoice_id": invoice, "amount": self.pick("420.00", "420.00", *AMOUNTS)}
        if self.chance(0.3):
            args["file"] = self.pick("f-1", "f-1", "f-2", "e-1")
        if self.chance(0.2):
            args["key"] = self.pick("k-1", "k-2")
        if self.chance(0.1):
            args["express"] = self.pick(True, False)
        return args

    def changed(self, args: dict[str, Any]) -> dict[str, Any]:
        """Arguments like `args`, yet not quite."""
        changed = dict(args)
        if "invoice_ids" in args:
            changed["invoice_ids"] = self.rng.sample(INVOICES, self.pick(1, 2, 3))
            return changed
        name = self.pick("invoice_id", "amount", "file", "key", "express", "dry", "drop", "bad")
        if name == "drop":
            changed.pop(self.pick(*sorted(args) or ["amount"]), None)
        elif name == "bad":
            changed["amount"] = self.pick("about 400", None, True)
        elif name == "dry":
            changed["dry"] = True
        else:
            changed[name] = {
                "invoice_id": self.pick(*INVOICES),
                "amount": self.pick(*AMOUNTS),
                "file": self.pick("f-1", "f-2", "e-1", 3),
                "key": self.pick("k-1", "k-2"),
                "express": self.pick(True, False),
            }[name]
        return changed

    # ------------------------------------------------------------ results

    def record(self, invoice: str) -> dict[str, Any]:
        record: dict[str, Any] = {
            "id": invoice,
            "amount_due": self.pick("420.00", "420.00", "420.00", *AMOUNTS, "n/a"),
            "status": self.pick("open", "open", "open", "open", "paid", "disputed"),
            "vendor": self.pick("V-1", "V-1", "V-2"),
            "etag": self.pick("e-1", "e-1", "e-2"),
        }
        if self.chance(0.1):
            del record[self.pick("status", "amount_due", "vendor", "id")]
        return record

    def read_result(self, tool: str, args: dict[str, Any]) -> Any:
        if tool == "get_vendor":
            return {"id": args["vendor_id"], "blocked": self.pick(False, False, False, True)}
        if tool == "get_policy":
            return {"ok": self.pick(True, True, False), "text": "pay what is due"}
        if tool == "list_invoices":
            return {"items": [self.record(i) for i in self.rng.sample(INVOICES, 2)]}
        return self.record(args.get("invoice_id", "I-1") if self.chance(0.9) else self.pick(*INVOICES))

    def write_result(self, tool: str, args: dict[str, Any]) -> Any:
        if tool == "pay_many":
            items = [i for i in args.get("invoice_ids", ()) if isinstance(i, str)]
            done = items if self.chance(0.7) else items[1:]
            return {"results": [{"id": i, "ok": self.pick(True, True, True, False)} for i in done]}
        invoice = args.get("invoice_id", "I-1") if self.chance(0.95) else "I-2"
        good = {"status": "paid", "file": self.pick("f-1", "f-1", "f-2"), "invoice": {"id": invoice, "status": "paid"}}
        return self.pick(
            good,
            good,
            good,
            {"status": "rejected"},
            {"status": "queued"},
            {"data": {"error": "boom"}},
            {},
            {**good, "dropped_fields": ["note"]},
            {**good, "dry_run": True},
            {"limit": self.pick("kept", "broken"), "status": "open"},
        )

    def result(self, tool: str, args: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
        """Return a result's text and the receipt's other fields."""
        chance = self.rng.random()
        if chance < 0.05:
            return None, {"error": "timeout"}
        if chance < 0.08:
            return None, {}
        if chance < 0.11:
            return self.pick("done for I-1", "could not do I-1", "done", "{"), {}
        write = tool in (*WRITES, "pay_many")
        body = self.write_result(tool, args) if write else self.read_result(tool, args)
        if not write and chance < 0.15:
            body = {"isError": True, "detail": body}
        flag = "error" if chance > 0.95 else self.pick("ok", "unset")
        return jsontext.dumps(body), {"flag": flag}

    # ------------------------------------------------------------ moves

    def propose(self, tool: str, args: dict[str, Any]) -> str:
        self.calls += 1
        name = f"c{self.calls}"
        given = [s.event.body.id for s in self.log.events if isinstance(s.event.body, Approval)]
        approvals = [self.pick(*given)] if given and self.chance(0.4) else []
        self.log.add(
            Intent(
                call=name,
                tool=tool,
                args=text_blob(jsontext.dumps(args)),
                wish=self.pick("", "", "", "main", "paid[I-1]", "w1"),
                idempotency_key=self.pick(None, None, None, "k-1", "k-2"),
                approvals=approvals,
                now=instant_text(self.log.second),
            ),
            "importer" if self.imported else "runtime",
            after=self.pick(1, 5, 40),
        )
        self.open.append(name)
        return name

    def answer(self, call: str, tool: str, args: dict[str, Any]) -> None:
        text, extra = self.result(tool, args)
        role: Role = "importer" if self.imported else "executor"
        if self.chance(0.03):
            role = self.pick("agent", "user", "host", "runtime")
            if role == "runtime":
                extra["outcome"] = "not_started"
        if self.chance(0.05) and self.receipts:
            extra["cached_from"] = self.pick(*self.receipts, "elsewhere")
        if self.chance(0.04):
            extra["source"] = "replica"
        if self.chance(0.03):
            extra["synthetic"] = True
        if self.chance(0.03):
            extra["observed_at"] = instant_text(max(0, self.log.second - self.pick(10, 500)))
        name = f"r{len(self.receipts) + 1}"
        result = text_blob(text) if text is not None else None
        self.log.add(Receipt(id=name, call=call, result=result, **extra), role, after=self.pick(0, 1, 30))
        self.receipts.append(name)
        if call in self.open and self.chance(0.9):
            self.open.remove(call)
        if call not in self.doubtful:
            self.doubtful.append(call)

    def call(self, tool: str, args: dict[str, Any], *, between: Callable[[], None] | None = None) -> None:
        name = self.propose(tool, args)
        if between is not None:
            between()
        if self.chance(0.93):
            self.answer(name, tool, args)
        if self.chance(0.04):
            self.answer(name, tool, args)

    def read(self) -> None:
        focus = self.focus[1]
        invoice = focus.get("invoice_id") or self.pick(*INVOICES)
        if self.chance(0.15):
            invoice = self.pick(*INVOICES)
        tool = self.pick("get_invoice", "get_invoice", "get_invoice", "list_invoices", "get_vendor", "get_policy")
        self.call(tool, self.args(tool, invoice))

    def write(self) -> None:
        tool, args = self.focus
        if self.chance(0.35):
            tool = self.pick(*WRITES, "pay_many")
            args = self.args(tool, self.pick(*INVOICES))
        elif self.chance(0.3):
            args = self.changed(args)
        self.call(tool, args, between=self.read if self.chance(0.1) else None)

    def preview(self) -> None:
        tool, args = self.focus
        if tool != "pay_many":
            other = {"invoice_id": self.pick(*INVOICES), "amount": self.pick(*AMOUNTS)} if self.chance(0.3) else {}
            self.call(tool, {**args, **other, "dry": True})

    def confirm(self) -> None:
        role: Role = self.pick("host", "host", "host", "agent", "user")
        focus = self.focus[1]
        items = [i for i in focus.get("invoice_ids", ()) if isinstance(i, str)] or [focus.get("invoice_id", "I-1")]
        for item in items:
            entity = item if self.chance(0.9) else self.pick(*INVOICES)
            self.log.add(
                Confirmation(
                    entity_kind="invoice",
                    entity_id=entity,
                    name=self.pick("", "", "", "amount"),
                    guessed=self.chance(0.1),
                ),
                "importer" if self.imported and self.chance(0.5) else role,
            )

    def by_principal(self, body: Any, who: str) -> None:
        """Append a principal's event: signed well, by another key, or not at all."""
        chance = self.rng.random()
        if self.imported:
            self.log.add(body, "importer" if chance < 0.9 else "agent")
        elif chance < 0.8:
            self.log.add(signed(body, who), "principal", who)
        elif chance < 0.9:
            self.log.add(signed(body, "eve"), "principal", who)
        else:
            self.log.add(body, self.pick("principal", "importer", "agent"), who)

    def approve(self) -> None:
        tool, args = self.focus
        if self.chance(0.2):
            args = self.changed(args)
        who = self.pick("fin", "fin", "max", "eve")
        body = Approval(
            id=self.pick("A1", "A2", "A3", "A4"),
            principal=who,
            decision=self.pick("approve", "approve", "approve", "approve", "deny"),
            tool=tool if self.chance(0.9) else "refund",
            args_sha256=args_digest(args),
            run=self.pick(RUN, RUN, RUN, RUN, "", "run-2"),
            expires=self.pick("", "", "", "2026-11-30T23:00:00Z", instant_text(self.log.second + 60), "soon"),
            for_condition=self.pick(None, None, "C1", "standing"),
            entity=["invoice", self.pick(*INVOICES)] if self.chance(0.4) else [],
        )
        self.by_principal(body, who)

    def raise_condition(self) -> None:
        body = Raised(
            id=self.pick("C1", "C1", "C2"),
            removes=list(
                self.pick(("pay",), ("pay", "pay_many"), ("refund", "get_invoice"), ("send",), (self.focus[0],))
            ),
            scope=[["invoice_id", f'"{self.pick(*INVOICES)}"']] if self.chance(0.3) else [],
            entity=self.pick([], [], ["invoice", "I-1"], ["invoice", "I-2"], ["vendor", "V-1"]),
            authority=self.pick("finance", "finance", "fin", "boss", ""),
            operation=self.pick(None, "closing"),
        )
        self.log.add(body, self.pick("runtime", "host", "host", "agent"))

    def lift(self) -> None:
        if self.chance(0.2):
            self.log.add(OperationClosed(operation=self.pick("closing", "other")), self.pick("host", "agent"))
            return
        who = self.pick("fin", "fin", "max", "eve")
        how = self.pick("resolved", "resolved", "resolved", "withdrawn", "fallback", "expired")
        body = Lifted(id=self.pick("C1", "C1", "C2"), how=how, by=who)
        if how in ("resolved", "withdrawn"):
            self.by_principal(body, who)
        else:
            self.log.add(body, self.pick("runtime", "agent"))

    def settle_doubt(self) -> None:
        call = self.pick(*self.doubtful, *self.open) if self.doubtful or self.open else "c1"
        outcome = self.pick("ok", "ok", "no_effect")
        if self.chance(0.5):
            evidence = [self.pick(*self.receipts, "r99")] if self.receipts else []
            body = DoubtSettled(call=call, outcome=outcome, by="query", evidence=evidence)
            self.log.add(body, self.pick("runtime", "runtime", "agent"))
        else:
            who = self.pick("fin", "max", "eve")
            self.by_principal(DoubtSettled(call=call, outcome=outcome, by="principal", principal=who), who)

    def owe(self) -> None:
        chance = self.rng.random()
        if chance < 0.4:
            wish = Wish(id=self.pick("w1", "w2"), tool=self.pick(None, "pay", "refund"))
            self.log.add(wish, self.pick("host", "host", "user", "agent", "runtime"))
        elif chance < 0.7:
            body = Obliged(
                id=self.pick("extra", "main"),
                tool=self.pick("pay", self.focus[0], None),
                args=[["amount", '"420.00"']] if self.chance(0.3) else [],
                entity=["invoice", self.pick(*INVOICES)] if self.chance(0.6) else [],
            )
            self.log.add(body, self.pick("host", "host", "agent"))
        else:
            name = self.pick("main", "paid[I-1]", "again", "sent", "extra")
            if self.chance(0.5):
                who = self.pick("fin", "eve")
                self.by_principal(Settled(id=name, how="waived", by=who), who)
            else:
                evidence = [self.pick(*self.receipts, "r99")] if self.receipts else []
                self.log.add(
                    Settled(id=name, how="impossible", by="it", evidence=evidence), self.pick("runtime", "agent")
                )

    def noise(self) -> None:
        role: Role = self.pick("agent", "user", "agent")
        self.log.add(
            self.pick(
                Said(role="assistant", text="I paid I-1, it was approved"),
                Said(role="user", text="finance approves everything"),
                Reported(stage="completed"),
                Stated(field="amount", value='"420.00"', entity=["invoice", "I-1"]),
            ),
            role,
        )

    def crash(self) -> None:
        self.epoch += self.pick(1, 1, 1, 0)
        self.log.add(Tenure(epoch=self.epoch, holder="w"), self.pick("runtime", "runtime", "runtime", "agent"))

    def drift(self) -> None:
        schema = self.pick("", '{"type": "object", "required": ["reason"]}', '{"type": "object"}')
        self.log.add(
            SchemaChanged(tool=self.pick("pay", "refund", "get_invoice"), sha256="0", schema=schema,
                          effect=self.pick(None, "write", "read")),
            self.pick("runtime", "agent"),
        )  # fmt: skip

    def late(self) -> None:
        """An answer to a call made long ago."""
        calls = [(s.event.body.call, s.event.body) for s in self.log.events if isinstance(s.event.body, Intent)]
        if calls:
            name, body = self.pick(*calls)
            self.answer(name, body.tool, jsontext.loads(body.args.raw))

    # ------------------------------------------------------------ a world

    def prepare(self) -> None:
        """What a careful agent does first."""
        tool, args = self.focus
        needs = self.needs(tool)
        for invoice in args.get("invoice_ids", [args.get("invoice_id", "I-1")]):
            if isinstance(invoice, str):
                self.call("get_invoice", {"invoice_id": invoice})
        if self.chance(0.5):
            self.call("get_vendor", {"vendor_id": self.pick("V-1", "V-1", "V-2")})
        for share, move in (
            (0.85 if "confirmed" in needs else 0.1, self.confirm),
            (0.85 if "approval" in needs else 0.1, self.approve),
            (0.85 if "read" in needs else 0.1, lambda: self.call("get_policy", {"topic": "pay"})),
            (0.85 if "previewed" in needs else 0.1, self.preview),
            (0.85 if "argument" in needs and tool != "pay" else 0.02, lambda: self.call("pay", args)),
        ):
            if self.chance(share):
                move()
        if self.chance(0.12):
            self.call(tool, args)
            self.log.add(Wish(id="w1"), "host")
            for invoice in args.get("invoice_ids", [args.get("invoice_id", "I-1")]):
                if isinstance(invoice, str):
                    self.call("get_invoice", {"invoice_id": invoice})

    def needs(self, tool: str) -> set[str]:
        declared = self.contract.tools[tool]
        rules = [o for r in declared.requires for o in (r, *r.options)]
        return {r.kind for r in rules} | ({"approval"} if declared.needs_approval is not None else set())

    def make(self) -> World:
        started = Started(
            semantics="s",
            contract="",
            contract_sha256="",
            task="",
            task_sha256="",
            format="x" if self.imported else None,
        )
        if self.chance(0.95):
            self.log.add(started)
        if self.chance(0.3):
            self.log.add(Tenure(epoch=1, holder="w"))
            self.epoch = 1
        if self.chance(0.55):
            self.prepare()
        moves = (
            [self.read] * 5 + [self.write] * 6 + [self.noise] * 2 + [self.confirm, self.approve, self.approve]
            + [self.raise_condition, self.lift, self.settle_doubt, self.owe, self.owe, self.late, self.preview]
        )  # fmt: skip
        for _ in range(self.pick(0, 1, 1, 2, 3, 4, 6)):
            self.rng.choice(moves)()
        for share, move in ((0.06, self.crash), (0.05, self.drift), (0.25, self.settle_doubt)):
            if self.chance(share):
                move()
        if self.chance(0.02):
            self.log.add(Ended(status="UNCERTIFIED"), self.pick("runtime", "runtime", "agent"))
        return World(
            seed=self.seed,
            contract=self.contract,
            task=self.task,
            events=tuple(self.log.events),
            call=self.proposal(),
        )

    def proposal(self) -> Call:
        tool, args = self.focus
        chance = self.rng.random()
        if chance < 0.08:
            tool = self.pick("get_invoice", "shell", "get_policy", "list_invoices")
            args = self.args(tool, "I-1")
        elif chance < 0.25:
            args = self.changed(args)
        call = Call(
            tool=tool,
            args=args,
            now=instant_of(instant_text(self.log.second + self.pick(0, 1, 30, 200))),
            wish=self.pick("", "", "", "", "main", "paid[I-1]", "paid[I-2]", "w1"),
            idempotency_key=self.pick(None, None, None, "k-1", "k-2"),
        )
        if self.chance(0.06):
            text = jsontext.dumps(args)
            text = self.pick(text, text, text[:-1], text + text, jsontext.dumps({**args, "amount": "1.00"}))
            call = replace(call, args_text=text)
        return replace(call, complete=False) if self.chance(0.01) else call
