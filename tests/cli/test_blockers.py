"""`blockers` and `approve --blocker` on a run that a guard really made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tallystick import Guard, Principal, Run
from tallystick.ledger.keys import public_bytes, signing_key
from tallystick.runtime.controls import human_approval
from tests.cli.conftest import Cli
from tests.handoff.desk import CONTRACT, Desk, blocked

DOC = {"resource": "DOC-7"}


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def run(ledger: Path, desk: Desk, tmp_path: Path) -> Iterator[Run]:
    people = [
        Principal(id="ann", role="security", public_key=public_bytes(signing_key(tmp_path / "ann.pem"))),
        Principal(id="bob", role="sales", public_key=public_bytes(signing_key(tmp_path / "bob.pem"))),
    ]
    with Guard(CONTRACT, ledger, tools=desk.tools()) as guard:
        made = guard.run(run_id="r1", principals=people)
        blocked(made)
        yield made


def test_a_blocker_is_listed_and_resolved_by_its_authority_alone_and_survives_a_restart(
    cli: Cli, run: Run, ledger: Path, desk: Desk, tmp_path: Path
) -> None:
    assert run.call("open_document", DOC).refused
    run.suspend()
    (listed,) = cli("blockers", ledger, "--json").json["blockers"]
    assert (listed["id"], listed["standing"], listed["authority"]) == ("b1", "open", "security")
    assert listed["removes"] == ["open_document"]
    assert "decided by: security" in cli("blockers", ledger, "r1").out
    refused = cli("approve", ledger, "--blocker", "b1", "--key", tmp_path / "bob.pem")
    assert refused.code == 2
    assert "is decided by `security`" in refused.err
    assert cli("approve", ledger, "--blocker", "b2", "--key", tmp_path / "ann.pem").code == 2
    assert cli("approve", ledger, "--blocker", "b1", "--deny", "--key", tmp_path / "ann.pem").code == 2
    told = cli("approve", ledger, "--blocker", "b1", "--key", tmp_path / "ann.pem", "--json").json
    assert told == {"run": "r1", "blocker": "b1", "how": "resolved", "principal": "ann", "recorded": True}
    assert cli("approve", ledger, "--blocker", "b1", "--key", tmp_path / "ann.pem").code == 2
    with Guard(CONTRACT, ledger, tools=desk.tools()) as guard, guard.resume("r1") as again:
        assert again.call("open_document", DOC).ran
    assert desk.done == [("open_document", "DOC-7")]
    (listed,) = cli("blockers", ledger, "--json").json["blockers"]
    assert (listed["standing"], listed["ended_how"], listed["ended_by"]) == ("resolved", "resolved", "ann")


def test_an_artifact_is_compared_with_the_record(cli: Cli, run: Run, ledger: Path, tmp_path: Path) -> None:
    whole = run.hand_off("executor", "Go on.\n").artifact
    run.receive("Go on.\n", to="executor")
    note = tmp_path / "note.txt"
    note.write_text(whole, encoding="utf-8")
    assert cli("blockers", ledger, "--artifact", note).code == 0
    note.write_text(whole.replace("do not proceed", "worth a look"), encoding="utf-8")
    found = cli("blockers", ledger, "--artifact", note, "--json")
    assert found.code == 1
    assert found.json["artifact"]["state"] == "edited"
    assert {"blocker": "b1", "field": "status", "how": "changed", "found": "worth a look"} in found.json["artifact"][
        "losses"
    ]
    assert [hop["verdict"] for hop in found.json["hops"]] == ["repaired", "repaired"]
    ticket = tmp_path / "ticket.json"
    ticket.write_text('{"title": "go on"}', encoding="utf-8")
    assert cli("blockers", ledger, "--artifact", ticket).code == 1
    ticket.write_text(run.hand_off("x", '{"title": "go on"}', form="ticket-text").artifact, encoding="utf-8")
    assert cli("blockers", ledger, "--artifact", ticket).code == 0
    assert "hop 2: agent, taken by executor: absent, repaired" in cli("blockers", ledger).out
    assert "   b1: status, prerequisite, authority, fallback missing" in cli("blockers", ledger).out
    assert "block absent, repaired" in cli("show", ledger).out
    assert cli("recheck", ledger).code == 0
    assert cli("blockers", ledger, "--form", "text").code == 2


@pytest.mark.parametrize(
    ("name", "content", "options", "says"),
    [
        ("a.txt", "go on", ["--form", "zz"], "`zz` is no form of an artifact (fix: one of text, markdown, messages"),
        ("a.txt", "go on", ["--form", ""], "is no form of an artifact"),
        ("a.txt", "go on", ["--form", "TEXT"], "is no form of an artifact"),
        ("a.json", '{"a": 1}', ["--form", "zz"], "is no form of an artifact"),
        ("a.txt", "go on", ["--form", "ticket"], "not JSON"),
        ("a.txt", "go on", ["--form", "ticket-text"], "not JSON"),
        ("a.txt", "go on", ["--form", "messages"], "not JSON"),
        ("a.json", "[]", ["--form", "ticket"], "is not of the form `ticket`"),
        ("a.json", "{}", ["--form", "messages"], "is not of the form `messages`"),
        ("a.json", "[1]", [], "is no message"),
        ("a.json", "5", [], "no JSON object"),
        ("a.json", '{"a": 1,}', [], "not JSON at line 1"),
        ("a.json", '{"a": 1, "a": 2}', [], "appears twice"),
        ("a.json", "[" * 999, [], "nested deeper"),
        ("a.txt", b"\xff\xfe", [], "not UTF-8"),
        ("a.txt", None, [], "no such file"),
    ],
)
def test_what_is_no_artifact_or_form_is_one_error_and_exit_2(
    cli: Cli, run: Run, ledger: Path, tmp_path: Path, name: str, content: object, options: list[str], says: str
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else str(content).encode())
    found = cli("blockers", ledger, run.id, "--artifact", file, *options)
    assert found.code == 2
    assert found.err.startswith("error: ")
    assert found.err.count("\n") == 1
    assert says in found.err
    told = cli("blockers", ledger, run.id, "--artifact", file, *options, "--json")
    assert told.code == 2
    assert says.partition(" (fix")[0] in told.json["error"]["message"]


def test_an_artifact_of_another_run_exits_with_1_and_names_it(cli: Cli, run: Run, ledger: Path, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text(run.hand_off("executor", "Go on.\n").artifact, encoding="utf-8")
    with Guard(CONTRACT, ledger) as guard:
        guard.run(run_id="r9").suspend()
    found = cli("blockers", ledger, "r9", "--artifact", note)
    assert found.code == 1
    assert f"handoff.foreign it has a block of run `{run.id}`" in found.out
    assert cli("blockers", ledger, "r9", "--artifact", note, "--json").json["artifact"]["foreign"][0]["run"] == run.id


def test_a_call_an_endpoint_control_holds_is_approved_on_the_command_line(
    cli: Cli, ledger: Path, desk: Desk, tmp_path: Path
) -> None:
    ann = Principal(id="ann", role="security", public_key=public_bytes(signing_key(tmp_path / "ann.pem")))
    with Guard(CONTRACT, ledger, tools=desk.tools(), controls=human_approval(role="security")) as guard:
        run = guard.run(run_id="r2", principals=ann)
        assert run.call("share_file", DOC).refused
        run.suspend()
    (held,) = cli("approve", ledger, "--json").json["pending"]
    assert (held["tool"], held["codes"]) == ("share_file", ["approval.missing"])
    assert cli("approve", ledger, held["number"], "--key", tmp_path / "ann.pem").code == 0
    assert cli("approve", ledger, "--json").json["pending"] == []
    with Guard(CONTRACT, ledger, tools=desk.tools(), controls=human_approval(role="security")) as guard:
        assert guard.resume("r2").call("share_file", DOC).ran
    assert cli("recheck", ledger).code == 0


def test_what_waits_on_a_blocker_names_both_ways_and_several_runs_the_option(
    cli: Cli, run: Run, ledger: Path, tmp_path: Path
) -> None:
    run.call("open_document", DOC)
    assert "--run r1 --blocker b1" in cli("approve", ledger).out
    run.finish("nothing")
    run.close()
    with Guard(CONTRACT, ledger) as guard:
        guard.run(run_id="r2").suspend()
    args = ("approve", ledger, "--blocker", "b1", "--key", tmp_path / "ann.pem")
    assert "name one with --run;" in cli(*args).err
    assert "name one after the file;" in cli("blockers", ledger).err
    assert "run r1 has ended BLOCKED: none of its calls" in cli(*args, "--run", "r1").err
