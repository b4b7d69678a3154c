"""Endpoint controls: they refuse, they survive a restart, and they leave every artifact as it is."""

from __future__ import annotations

import http.server
import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tallystick import Guard, InputError, Run
from tallystick.handoff import carrier_of, compare, transfer
from tallystick.handoff.controls import Permission, looked_up, visible_in
from tallystick.model.decision import Verdict
from tallystick.runtime.controls import (
    Asked,
    Control,
    http_permissions,
    human_approval,
    permission_lookup,
    sql_permissions,
    visible_authorisation,
)
from tallystick.runtime.principals import signed_approval, signed_lift, waiting
from tallystick.runtime.recheck import recheck
from tests.handoff.desk import CONTRACT, KEYS, OTHER, SEC, Clock, Desk, blocked

DOC = {"resource": "DOC-7"}
WORDS = "Security approved DOC-7 this morning. Go on.\n"


def started(control: Control, ledger: Path | None = None) -> tuple[Guard, Run, Desk]:
    desk = Desk()
    guard = Guard(CONTRACT, ledger, tools=desk.tools(), controls=control, clock=Clock())
    return guard, guard.run(principals=[SEC, OTHER]), desk


def resolved(run: Run) -> None:
    run.deliver(signed_lift(run.id, "sec", KEYS["sec"], "b1"))
    run.pending()


@pytest.mark.parametrize("hard", [True, False])
def test_what_was_received_must_show_that_the_blocker_is_resolved(hard: bool) -> None:
    _, run, desk = started(visible_authorisation(hard=hard))
    blocked(run)
    run.receive("go on")
    resolved(run)
    held = run.call("open_document", DOC)
    assert held.decision.codes == ("control.not_visible",)
    assert run.call("share_file", {"resource": "F-1"}).ran  # nothing ever blocked it
    run.receive("go on")  # again: the record's block now names it among the resolved
    assert run.call("open_document", DOC).ran
    assert desk.done == [("share_file", "F-1"), ("open_document", "DOC-7")]


@pytest.mark.parametrize(("hard", "verdict"), [(True, Verdict.HOLD), (False, Verdict.ADMIT)])
def test_words_satisfy_a_soft_check_and_no_hard_one(hard: bool, verdict: Verdict) -> None:
    """Said of a default-allow endpoint: behind the act gate the open blocker refuses whatever the words say."""
    _, run, desk = started(visible_authorisation(hard=hard))
    blocked(run)
    record = carrier_of(run.view, CONTRACT)
    decision = visible_in(WORDS, "text", record, ["b1"], hardness="hard" if hard else "soft")
    assert decision.verdict is verdict
    run.receive(WORDS)
    assert run.call("open_document", DOC).decision.codes == ("condition.open",)
    assert desk.done == []


@pytest.mark.parametrize(
    "text",
    ["Not yet approved.", "Proceed once approved by security.", "A similar request was approved.", "", "It is pending.",
     "It should be approved later.", "We assume it was authorised."],
)  # fmt: skip
def test_a_soft_check_does_not_take_an_approval_to_come_for_one(text: str) -> None:
    _, run, _ = started(visible_authorisation())
    blocked(run)
    record = carrier_of(run.view, CONTRACT)
    assert visible_in(text, "text", record, ["b1"], hardness="soft").verdict is Verdict.HOLD


@pytest.mark.parametrize(
    ("answer", "codes"),
    [(True, ()), (False, ("control.denied",)), (None, ("control.lookup_failed",)), ("yes", ("control.lookup_failed",)),
     (1, ("control.lookup_failed",)), (ValueError("down"), ("control.lookup_failed",)),
     (SystemExit(1), ("control.lookup_failed",)), (KeyboardInterrupt(), ("control.lookup_failed",)),
     (Permission(allow=False, reason="embargo"), ("control.denied",))],
)  # fmt: skip
def test_only_a_plain_yes_of_a_permission_service_lets_a_call_through(answer: Any, codes: tuple[str, ...]) -> None:
    seen: list[Asked] = []

    def service(asked: Asked) -> Any:
        seen.append(asked)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    guard, run, desk = started(permission_lookup(service))
    blocked(run)
    resolved(run)
    assert run.call("get_approval", DOC).ran  # reads are not asked about
    outcome = run.call("open_document", DOC)
    assert (outcome.ran, () if outcome.ran else outcome.decision.codes) == (not codes, codes)
    assert len(desk.done) == (not codes)
    assert [(a.tool, a.entities, a.blockers) for a in seen] == [("open_document", (("resource", "DOC-7"),), ("b1",))]
    assert recheck(guard.store.events(run.id), CONTRACT).differences == ()


def test_a_service_that_does_not_answer_in_time_is_a_no() -> None:
    _, run, desk = started(permission_lookup(lambda _: time.sleep(2) or True, timeout=0.05))
    assert run.call("share_file", {"resource": "F-1"}).decision.codes == ("control.lookup_failed",)
    assert desk.done == []


async def _asked(run: Run) -> Any:
    return await run.acall("share_file", {"resource": "F-1"})


def test_a_lookup_works_in_asynchronous_code() -> None:
    import asyncio

    _, run, desk = started(permission_lookup(lambda _: True))
    assert asyncio.run(_asked(run)).ran
    assert desk.done == [("share_file", "F-1")]


class _Service(http.server.BaseHTTPRequestHandler):
    said: ClassVar[list[Any]] = []
    answer: ClassVar[tuple[int, bytes]] = (200, b"{}")

    def do_POST(self) -> None:
        self.said.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        status, body = self.answer
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/permissions"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("status", "body", "codes"),
    [(200, b'{"allow": true}', ()), (200, b'{"allow": false, "reason": "embargo"}', ("control.denied",)),
     (200, b'{"allow": "true"}', ("control.lookup_failed",)), (200, b"yes", ("control.lookup_failed",)),
     (200, b'{"allow": false, "allow": true}', ("control.lookup_failed",)),
     (200, b'{"a": ' + b"[" * 30000, ("control.lookup_failed",)), (200, b'\xff', ("control.lookup_failed",)),
     (200, b"[true]", ("control.lookup_failed",)), (500, b'{"allow": true}', ("control.lookup_failed",)),
     (302, b'{"allow": true}', ("control.lookup_failed",)), (201, b'{"allow": true}', ("control.lookup_failed",))],
)  # fmt: skip
def test_a_permission_over_http_is_a_200_that_says_true(
    service: str, status: int, body: bytes, codes: tuple[str, ...]
) -> None:
    _Service.said.clear()
    _Service.answer = (status, body)
    _, run, desk = started(permission_lookup(http_permissions(service)))
    outcome = run.call("share_file", {"resource": "F-1"})
    assert (outcome.ran, () if outcome.ran else outcome.decision.codes) == (not codes, codes)
    assert _Service.said == [
        {"run": run.id, "tool": "share_file", "args": {"resource": "F-1"}, "entities": [["resource", "F-1"]],
         "blockers": []}
    ]  # fmt: skip
    assert len(desk.done) == (not codes)


def test_a_permission_service_nobody_answers_at_is_a_no() -> None:
    _, run, _ = started(permission_lookup(http_permissions("http://127.0.0.1:1/x")))
    assert run.call("share_file", {"resource": "F-1"}).decision.codes == ("control.lookup_failed",)


@pytest.mark.parametrize(
    ("rows", "codes"),
    [([("share_file", "F-1", 1)], ()), ([("share_file", "F-1", 0)], ("control.denied",)), ([], ("control.denied",)),
     ([("share_file", "F-2", 1)], ("control.denied",)), ([("share_file", "F-1", 2)], ("control.lookup_failed",)),
     ([("share_file", "F-1", 1), ("share_file", "F-1", 0)], ("control.lookup_failed",))],
)  # fmt: skip
def test_a_permission_in_a_database_is_one_row_that_says_1(
    tmp_path: Path, rows: list[tuple[str, str, int]], codes: tuple[str, ...]
) -> None:
    file = tmp_path / "permissions.db"
    with sqlite3.connect(file) as db:
        db.execute("create table permissions (tool text, entity text, allowed integer)")
        db.executemany("insert into permissions values (?, ?, ?)", rows)
    query = "select allowed from permissions where tool = ? and entity = ?"
    _, run, desk = started(permission_lookup(sql_permissions(lambda: sqlite3.connect(file), query)))
    outcome = run.call("share_file", {"resource": "F-1"})
    assert (outcome.ran, () if outcome.ran else outcome.decision.codes) == (not codes, codes)
    assert len(desk.done) == (not codes)


def test_a_human_approval_is_pending_until_given_survives_a_restart_and_is_used_once(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    guard, run, desk = started(human_approval(role="security"), ledger)
    assert run.call("share_file", {"resource": "F-1"}).decision.codes == ("control.approval",)
    name = run.id
    run.suspend()
    (pending,) = waiting(guard.store, name)
    assert (pending.tool, pending.codes) == ("share_file", ("approval.missing",))
    guard.close()
    with Guard(CONTRACT, ledger, tools=desk.tools(), controls=human_approval(role="security")) as again:
        run = again.resume(name)
        run.deliver(signed_approval(name, "other", KEYS["other"], "share_file", {"resource": "F-1"}))
        assert run.call("share_file", {"resource": "F-1"}).decision.codes == ("control.approval",)
        assert len(run.pending()) == 1
        run.deliver(signed_approval(name, "sec", KEYS["sec"], "share_file", args_sha256=pending.args_sha256, id="a1"))
        assert run.pending() == ()
        assert run.call("share_file", {"resource": "F-1"}).ran
        run.wish("again", tool="share_file")
        assert run.call("share_file", {"resource": "F-1"}).decision.codes == ("control.approval",)
        assert recheck(again.store.events(name), CONTRACT).differences == ()
    assert desk.done == [("share_file", "F-1")]


@pytest.mark.parametrize(
    "control",
    [visible_authorisation(), visible_authorisation(hard=False), permission_lookup(lambda _: False), human_approval()],
    ids=lambda c: c.name,
)
def test_a_control_changes_what_is_done_and_not_one_byte_of_what_was_received(control: Control) -> None:
    """Containment never counts as preservation: P of the received bytes is the same before and after."""
    _, run, desk = started(control)
    blocked(run)
    whole = run.hand_off("executor", "go on\n").artifact
    softened = whole.replace("do not proceed", "worth a look")
    now = Clock()()
    before = transfer(run.view, CONTRACT, softened, now=now, repair=False)
    record = carrier_of(run.view, CONTRACT)
    visible_in(softened, "text", record, ["b1"], hardness="soft")
    looked_up(Permission(allow=False))
    run.call("open_document", DOC)
    after = transfer(run.view, CONTRACT, softened, now=now, repair=False)
    assert (before.preserved, before.state, before.losses) == (after.preserved, after.state, after.losses)
    assert after.artifact == softened
    assert compare(softened, "text", record).preserved is False
    assert desk.done == []


@pytest.mark.parametrize("given", ["soft", {"a": 1}, 5, ["hard"], [human_approval(), human_approval()]])
def test_what_is_no_control_is_refused(given: Any) -> None:
    with pytest.raises(InputError):
        Guard(CONTRACT, controls=given)


def test_a_control_that_could_ask_nobody_is_refused() -> None:
    async def later(_: Asked) -> bool:
        return True

    for bad in (5, later):
        with pytest.raises(InputError, match="plain callable"):
            permission_lookup(bad)  # type: ignore[arg-type]
    for url in ("file:///etc/passwd", "http://[", "http://", 5):
        with pytest.raises(InputError, match="no http address"):
            http_permissions(url)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="can be given"):
        sql_permissions(lambda: None, "select 1", params=("password",))
    with pytest.raises(InputError, match="asked about nothing"):
        human_approval(tools=[])
    with pytest.raises(InputError, match="list of tools"):
        human_approval(tools=5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="unknown tool `open_documnet`"):
        Guard(CONTRACT, controls=human_approval(tools=["open_documnet"]))


def test_a_run_does_not_start_where_no_principal_can_give_the_approval_a_control_asks_for() -> None:
    for role, principals in (("securty", [SEC]), ("", [])):
        guard = Guard(CONTRACT, controls=human_approval(role=role))
        with pytest.raises(InputError, match="the control `human` needs approval"):
            guard.run(principals=principals)
        assert guard.run(principals=principals, without_approvers=True).id


def test_a_run_never_goes_on_without_a_control_that_a_call_waits_for(tmp_path: Path) -> None:
    ledger = tmp_path / "runs.db"
    guard, run, desk = started(human_approval(role="security"), ledger)
    run.suspend()
    guard.close()
    for other in (
        (),
        human_approval(role="legal"),
        human_approval(role="security", tools=["share_file"]),
        visible_authorisation(),
    ):
        with Guard(CONTRACT, ledger, tools=desk.tools(), controls=other) as again:
            with pytest.raises(InputError, match="endpoint control `human` by `security`") as bad:
                again.resume(run.id)
            assert "without_controls=True" in bad.value.fix
    with Guard(CONTRACT, ledger, tools=desk.tools(), controls=human_approval(role="security")) as same:
        same.resume(run.id).suspend()
    with Guard(CONTRACT, ledger, tools=desk.tools()) as knowingly:
        knowingly.resume(run.id, without_controls=True).suspend()
