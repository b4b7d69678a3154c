"""Writing a scene's events as the ledger events of one imported run, and folding them.

Words (summaries, resumes, framework successes, finish reasons) stay words. A call is an intent once something shows
that it went out; one that waits for approval, that a crash report lists as not started, or that is only now proposed
is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.model import events as e
from tallystick.model import jsontext
from tallystick.model.exact import args_digest
from tallystick.model.values import instant_of
from tallystick.testing.cases.declare import KIND, kind_of
from tallystick.testing.cases.read import Scene, ToolDecl, writable
from tallystick.testing.cases.wire import Got, Made, Wire, name_of
from tallystick.testing.cases.words import asks_again, names_tool, parts, tokens
from tallystick.view import View

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Instant of an undated event 0; each event is a second later."""
PRINCIPALS: Final = frozenset({"user", "principal", "owner", "human", "operator"})
"""Words for `by` that name somebody who may decide."""
CUT: Final = frozenset({"length", "max_tokens", "content_filter", "refusal", "pause_turn"})
"""Finish reasons of a turn that did not end by itself."""
_MET: Final = frozenset({"present", "met", "done", "resolved", "satisfied"})


class Recorder:
    """Seals bodies into one run's chain and folds each into a view."""

    def __init__(self, contract: Contract, format: str) -> None:  # noqa: A002 - the format's name
        self.view = View(contract, run="case")
        self.now = START
        self._prev = e.GENESIS
        self.add(
            e.Started(
                semantics=e.SEMANTICS, contract=contract.text, contract_sha256=contract.sha256, task="", task_sha256="",
                format=format or "case",
            )
        )  # fmt: skip

    def add(self, body: e.AnyBody, role: e.Role = "importer") -> None:
        """Append one event."""
        at = self.now.isoformat().replace("+00:00", "Z")
        event = e.Event(
            v=e.ENVELOPE_VERSION, run="case", seq=self.view.upto + 1, at=at, actor=e.Actor(role=role, id="case"),
            body=body, prev=self._prev,
        )  # fmt: skip
        sealed = e.seal(event)
        self._prev = sealed.digest
        self.view.apply(sealed)


def record(scene: Scene, wire: Wire, contract: Contract) -> Recorder:
    """Return the folded record of a scene."""
    recorder = Recorder(contract, scene.format)
    for lost in wire.damage:
        recorder.add(e.Damage(code=lost.code, text=f"{lost.where}: {lost.message}"))
    writer = _Writer(scene, wire, recorder)
    writer.chosen()
    for at, event in enumerate(scene.events):
        recorder.now = _later(recorder.now, 1 + (event.get("delay_s") or 0))
        stated = event.get("at")
        if stated is not None:
            recorder.now = max(recorder.now, _instant(stated))
        writer.write(at, event)
    recorder.now = _later(recorder.now, 1)
    return recorder


def _later(now: datetime, seconds: int) -> datetime:
    try:
        return now + timedelta(seconds=seconds)
    except OverflowError:
        raise InputError(
            "the events reach beyond the year 9999", fix="a smaller `at`, `delay_s` or `valid_s`"
        ) from None


def _instant(text: str) -> datetime:
    try:
        return instant_of(text)
    except ValueError as bad:
        raise InputError(f"`at`: {bad}", fix="an RFC 3339 instant") from None


def _json(value: Any) -> str:
    return jsontext.dumps(value)


class _Writer:
    def __init__(self, scene: Scene, wire: Wire, recorder: Recorder) -> None:
        self.scene = scene
        self.wire = wire
        self.out = recorder
        self.tools: dict[str, ToolDecl] = {t.name: t for t in scene.tools}
        self.waiting: dict[int, Made] = {}
        self.receipts: dict[str, str] = {}
        self.epoch = 1
        self.approvals: list[tuple[str, str, str, bool]] = []
        call = scene.attempt.get("call") if scene.attempt["kind"] == "call" else None
        self.proposed = name_of(call.get("call_id")) if isinstance(call, Mapping) else None

    def chosen(self) -> None:
        """What the user names, digit by digit, the user chose. A guess from words, and marked as one."""
        texts = [self.scene.goal, *(v["text"] for v in self.scene.events if v["kind"] == "user")]
        for word in dict.fromkeys(w for text in texts for w in tokens(text)):
            self.out.add(e.Confirmation(entity_kind=KIND, entity_id=word, guessed=True))
        self._owed_by_words(texts)

    def _owed_by_words(self, texts: list[str]) -> None:
        """Without stated obligations, a write that the request names by its whole name is owed."""
        if any(v["kind"] == "obligations" for v in self.scene.events):
            return
        for text in texts:
            for tool in self.scene.tools:
                if tool.effect == "write" and names_tool(tool.name, tokens(text)):
                    self.out.add(e.Obliged(id=tool.name, text=text, tool=tool.name))

    def write(self, at: int, event: Mapping[str, Any]) -> None:
        """Append what one event of the scene says."""
        kind = event["kind"]
        handler = getattr(self, f"_{kind}", None)
        if handler is not None:
            handler(at, event)

    # ------------------------------------------------------------ words

    def _user(self, at: int, event: Mapping[str, Any]) -> None:
        self.out.add(e.Said(role="user", text=event["text"]))
        # Asked for again after something took effect: a new wish, so that an equal effect is no duplicate.
        if asks_again(event["text"]) and self.out.view.any_effect():
            self.out.add(e.Wish(id=f"wish{at + 1}", text=event["text"]))

    def _assistant(self, _: int, event: Mapping[str, Any]) -> None:
        cut = event.get("finish_reason") in CUT or event.get("stop_reason") in CUT
        self.out.add(e.Said(role="assistant", text=event["text"], truncated=cut))

    def _compaction(self, _: int, event: Mapping[str, Any]) -> None:
        self.out.add(e.Said(role="summary", text=event.get("summary") or ""))

    def _framework(self, _: int, event: Mapping[str, Any]) -> None:
        self.out.add(e.Reported(stage=str(event.get("says") or "")))

    # ------------------------------------------------------------ calls

    def _call(self, at: int, _: Mapping[str, Any]) -> None:
        made = self.wire.calls[at]
        if not self._went_out(made):
            return
        if self._needs_approval(made) and not self._approved(made) and self._approved_later(made):
            self.waiting[at] = made
            return
        self._intend(made)

    def _went_out(self, made: Made) -> bool:
        later = self.scene.events[made.at + 1 :]
        mine = [v for v in later if name_of(v.get("call_id")) == made.native and made.native is not None]
        unstarted = {str(name) for v in later if v["kind"] == "crash" for name in v.get("not_started") or ()}
        if made.native in unstarted:
            return False
        if any(got.call is made for got in self.wire.results.values()):
            return True
        if any(v["kind"] in ("task_started", "cancel", "result") for v in mine):
            return True
        # Nothing shows that it ran: it waits for approval, or it is the very proposal that is judged.
        return not self._needs_approval(made) and made.native != self.proposed

    def _needs_approval(self, made: Made) -> bool:
        tool = self.tools.get(made.tool)
        return tool is not None and tool.needs_approval

    def _approved(self, made: Made) -> str | None:
        sha = args_digest(made.args)
        fits = [n for n, tool, digest, yes in self.approvals if yes and tool == made.tool and digest == sha]
        return fits[-1] if fits else None

    def _approved_later(self, made: Made) -> bool:
        sha = args_digest(made.args)
        return any(
            v["kind"] == "approval" and v["tool"] == made.tool and args_digest(v["args"]) == sha
            for v in self.scene.events[made.at + 1 :]
        )

    def _intend(self, made: Made) -> None:
        args = writable(made.args)
        approval = self._approved(made) if self._needs_approval(made) else None
        self.out.add(
            e.Intent(
                call=made.id,
                tool=made.tool,
                args=e.blob(args),
                raw_args=e.blob(made.args_text.encode()) if made.args_text is not None else None,
                native_id=made.native,
                turn=made.turn,
                approvals=[approval] if approval is not None else [],
            )
        )

    def _result(self, at: int, event: Mapping[str, Any]) -> None:
        got = self.wire.results[at]
        if got.call is not None and got.call.at in self.waiting:
            self._intend(self.waiting.pop(got.call.at))
        receipt = f"r{at + 1}"
        self.out.add(self._receipt(receipt, got, event))
        if got.native is not None:
            self.receipts[got.native] = receipt

    def _receipt(self, name: str, got: Got, event: Mapping[str, Any]) -> e.Receipt:
        rpc = event.get("rpc_error")
        text = got.text if got.text is not None else None if got.body is None else _json(got.body)
        cached = name_of(event.get("cached_from"))
        return e.Receipt(
            id=name,
            call=got.call.id if got.call is not None else None,
            result=None if text is None else e.blob(text.encode()),
            structured=None if got.structured is None else e.blob(writable(got.structured)),
            flag=got.flag,  # type: ignore[arg-type]  # one of the three, checked when read
            error=None if rpc is None else str(rpc.get("message") or "protocol error")[:200],
            source="imported",
            native_id=got.native,
            late=event.get("late") is True,
            delivered=event.get("delivered") is not False,
            synthetic=event.get("synthetic") is True,
            cached_from=None if cached is None else self.receipts.get(cached, cached),
            truncated=bool(event.get("truncated")),
        )

    def _crash(self, _: int, __: Mapping[str, Any]) -> None:
        self.epoch += 1
        self.out.add(e.Tenure(epoch=self.epoch, holder="after a crash"), "runtime")

    # ------------------------------------------------------------ authority

    def _approval(self, _: int, event: Mapping[str, Any]) -> None:
        sha = args_digest(event["args"])
        yes = event["decision"] in ("approve", "approved", "allow")
        valid = event.get("valid_s")
        expires = "" if valid is None else _later(self.out.now, valid).isoformat().replace("+00:00", "Z")
        self.out.add(
            e.Approval(
                id=event["approval_id"], principal=event["by"], decision="approve" if yes else "deny",
                tool=event["tool"], args_sha256=sha, run="", expires=expires,
            ),
            "importer" if event["by"] in PRINCIPALS else "host",
        )  # fmt: skip
        if event["by"] in PRINCIPALS:
            self.approvals.append((event["approval_id"], event["tool"], sha, yes))
        for at, made in list(self.waiting.items()):
            if self._approved(made) is not None:
                self._intend(self.waiting.pop(at))

    def _constraint(self, at: int, event: Mapping[str, Any]) -> None:
        scope = dict(event.get("scope") or {})
        operation = scope.pop("operation", None)
        self.out.add(
            e.Raised(
                id=event.get("id") or f"constraint{at + 1}",
                removes=list(event["blocks"]),
                scope=[[name, _json(value)] for name, value in scope.items()],
                status=event.get("text") or "",
                authority=event.get("release") or "",
                operation=operation if isinstance(operation, str) else None,
            )
        )

    def _blocker(self, at: int, event: Mapping[str, Any]) -> None:
        name = event.get("id") or f"blocker{at + 1}"
        self.out.add(
            e.Raised(
                id=name,
                removes=list(event["blocks"]),
                status=event.get("stop") or "",
                prerequisite=event.get("prerequisite") or "",
                authority=event.get("owner") or "",
                fallback=event.get("fallback") or "",
            )
        )
        if event.get("prerequisite_state") in _MET:
            self.out.add(e.Lifted(id=name, how="resolved", by=event.get("owner") or ""))

    def _operation_closed(self, _: int, event: Mapping[str, Any]) -> None:
        self.out.add(e.OperationClosed(operation=event["operation"]))

    def _obligations(self, _: int, event: Mapping[str, Any]) -> None:
        for item in event["items"]:
            text = item.get("text") or ""
            tool = self._tool_for(text)
            entity = self._entity_for(text, tool)
            self.out.add(
                e.Obliged(
                    id=item["id"], text=text, tool=tool.name if tool is not None else None,
                    entity=[kind_of(tool), entity] if tool is not None and entity is not None else [],
                )
            )  # fmt: skip

    def _tool_for(self, text: str) -> ToolDecl | None:
        """An obligation is discharged by the write that shares a word with it; by the only write where none does."""
        words = {w.lower() for w in tokens(text)}
        writes = [t for t in self.scene.tools if t.effect == "write"]
        sharing = [t for t in writes if words.intersection(parts(t.name))]
        if len(sharing) == 1:
            return sharing[0]
        return writes[0] if len(writes) == 1 else None

    def _entity_for(self, text: str, tool: ToolDecl | None) -> str | None:
        """`label bug` beside `label_create` is about `bug`: the one word that is not the tool's."""
        if tool is None or tool.entity_arg is None:
            return None
        own = parts(tool.name)
        words = tokens(text)
        left = [w for w in words if w.lower() not in own]
        return left[0] if len(left) == 1 and len(left) < len(words) else None

    def _fact(self, _: int, event: Mapping[str, Any]) -> None:
        if event.get("origin") == "user":
            self.out.add(e.Stated(field=event["field"], value=_json(event.get("value")), text=event.get("text") or ""))

    # ------------------------------------------------------------ the world

    def _schema(self, _: int, event: Mapping[str, Any]) -> None:
        now = event["now"]
        effect = None
        if now.get("readOnlyHint") is True:
            effect = "read"
        elif now.get("readOnlyHint") is False or now.get("destructiveHint") is True:
            effect = "write"
        schema = {"type": "object", **{k: v for k, v in now.items() if not k.endswith("Hint")}}
        self.out.add(
            e.SchemaChanged(
                tool=event["tool"], sha256=event.get("digest") or "", schema=_json(schema), effect=effect,
            )
        )  # fmt: skip

    def _run_closed(self, _: int, event: Mapping[str, Any]) -> None:
        self.out.add(e.Ended(status="UNCERTIFIED", reason=str(event.get("stage") or "run.closed")), "runtime")
