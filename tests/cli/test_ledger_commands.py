"""`runs`, `show`, `export` and `verify` on a real ledger."""

from __future__ import annotations

import json
import sqlite3
import stat
from pathlib import Path

import pytest

from tallystick import Guard
from tallystick.contracts import parse
from tallystick.gates.stage import Stage
from tallystick.ledger.keys import signing_key
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.model.events import Refusal, Said, blob
from tests.cli.conftest import Cli
from tests.ledger.samples import BODIES, filled, started

REFUSED = Decision(
    verdict=Verdict.HOLD,
    reasons=(Reason(code="evidence.missing", message="no read of `I-7`", reverses="read `get_invoice`"),),
)
REFUSAL = Refusal(tool="pay_invoice", args=blob(b'{"amount": 1.10}'), decision=REFUSED.text())


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A ledger with a run that ended, `r`, and one that did not, `s`."""
    file = tmp_path / "runs.db"
    store = SQLiteStore(file)
    filled(store, "r")
    filled(store, "s", (started(parent="r"), REFUSAL, Said(role="assistant", text="[bold]done[/bold] \x1b[31m")))
    store.close()
    return file


def test_runs_lists_each_run_with_its_status(cli: Cli, ledger: Path) -> None:
    """A run that did not end has no status."""
    found = cli("runs", "--ledger", ledger, "--json").json
    assert [(r["run"], r["status"], r["events"], r["parent"]) for r in found["runs"]] == [
        ("r", "CERTIFIED", len(BODIES), None),
        ("s", None, 3, "r"),
    ]
    assert [r["standing"] for r in found["runs"]] == ["ended", "lost"]
    table = cli("runs", "--ledger", ledger).out.splitlines()
    assert [line.split()[:2] for line in table[1:]] == [["r", "CERTIFIED"], ["s", "lost"]]


def test_show_prints_one_line_an_event_and_the_reasons_of_decisions(cli: Cli, ledger: Path) -> None:
    """Each event is there in order; a refusal says why and what would help."""
    shown = cli("show", ledger, "r").out.splitlines()
    assert [int(line.split()[0]) for line in shown[: len(BODIES)]] == [1, 2, 3, 4, 5]
    assert shown[len(BODIES)].startswith("stage by the record: ")
    assert "receipt pay_invoice: ok 11 bytes" in shown[3]
    assert "run ended: CERTIFIED (acted)" in shown[4]
    refused = cli("show", ledger, "s").out
    assert 'hold pay_invoice({"amount": 1.10})' in refused
    assert "evidence.missing no read of `I-7`; what would help: read `get_invoice`" in refused


@pytest.mark.parametrize("owes", [False, True])
def test_show_says_where_the_stage_is_that_of_a_task_that_owes_nothing(cli: Cli, tmp_path: Path, owes: bool) -> None:
    """A certified run that owed nothing is not left looking unfinished; one that owed something is completed."""
    rules = "contract: posts/1\ntools:\n  post: {effect: write, args: {id: id}, ok: result.ok}\n"
    owed = "task:\n  owes: [{id: posted, by: post}]\n" if owes else ""
    file = tmp_path / "post.db"
    with (
        Guard(parse(rules + owed), file, tools={"post": lambda id: {"ok": True}}) as guard,  # noqa: A006 - its argument
        guard.run(run_id="r") as run,
    ):
        assert run.call("post", {"id": "I-7"}).ran
        assert run.finish("Done.").status == "CERTIFIED"
    told = cli("show", file).out
    line = next(line for line in told.splitlines() if line.startswith("stage by the record: "))
    nothing = "post-observation; the task owes nothing, so there is nothing to complete"
    assert line == f"stage by the record: {'completed' if owes else nothing}"


def test_show_names_the_slot_a_reason_is_about_and_has_no_column_for_reports_nobody_made(
    cli: Cli, tmp_path: Path
) -> None:
    rules = "contract: posts/1\ntools:\n  count: {effect: read, yields: {}}\ntask:\n"
    rules += "  answer:\n    - {slot: shelves, type: integer, derive: count./n}\n"
    file = tmp_path / "count.db"
    with Guard(parse(rules), file, tools={"count": lambda: {"m": 1}}) as guard, guard.run(run_id="r") as run:
        run.call("count", {})
        assert not run.finish("There are 3.", {"shelves": 3}).accepted
    told = cli("show", file).out
    [reason] = [line for line in told.splitlines() if line.startswith("          ")]
    assert "`shelves`" in reason
    assert "stage after it" in told
    assert "which is" not in told


def test_the_glossary_has_each_stage_in_both_spellings(root: Path) -> None:
    """As `show` prints it and as JSON has it."""
    entry = (root / "docs" / "glossary.md").read_text(encoding="utf-8").split("**stage**")[1].split("**")[0]
    words = " ".join(entry.split())
    assert all(stage.words in words and f"`{stage}`" in words for stage in Stage)


def test_show_prints_foreign_text_as_text(cli: Cli, ledger: Path) -> None:
    """Neither markup nor terminal controls in what an agent said reach the terminal as such."""
    shown = cli("show", ledger, "s").out
    assert "[bold]done[/bold]" in shown
    assert "\x1b" not in shown


def test_show_as_json_has_every_event_whole(cli: Cli, ledger: Path) -> None:
    """The JSON has the stored events, with decisions as values."""
    found = cli("show", ledger, "s", "--json").json
    assert [e["body"]["kind"] for e in found["events"]] == ["run.started", "refusal", "message"]
    assert found["events"][1]["body"]["decision"]["reasons"][0]["code"] == "evidence.missing"


def test_a_run_that_is_not_there_is_named(cli: Cli, ledger: Path) -> None:
    """A wrong or ambiguous run is bad input."""
    for args in (["show", ledger, "t"], ["show", ledger], ["export", ledger, "t", "-o", ledger.parent / "t"]):
        done = cli(*args)
        assert (done.code, done.out) == (2, "")
        assert "tallystick runs" in done.err
    assert not (ledger.parent / "t").exists()


def test_an_export_is_authentic_under_its_key_and_no_other(cli: Cli, ledger: Path) -> None:
    """The key is made on first use, mode 0600; another key, or none, does not make the export authentic."""
    out, key = ledger.with_name("r.jsonl"), ledger.with_name("runs.db.key")
    assert not key.exists()
    exported = cli("export", ledger, "r", "-o", out, "--json").json
    assert exported["events"] == len(BODIES)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    pinned = cli("verify", out, "--key", exported["public_key_file"], "--json")
    assert (pinned.code, pinned.json["authentic"]) == (0, "authentic")
    bare = cli("verify", out)
    assert bare.code == 0
    assert bare.out.startswith("intact, unauthenticated: run r, 5 events")
    signing_key(ledger.with_name("other"))
    other = cli("verify", out, "--key", ledger.with_name("other.pub"), "--json")
    assert (other.code, other.json["authentic"]) == (1, "not authentic")


def test_a_changed_byte_is_found_and_named(cli: Cli, ledger: Path) -> None:
    """Exit code 1, and the line and event that fail."""
    out = ledger.with_name("r.jsonl")
    cli("export", ledger, "r", "-o", out)
    out.write_bytes(out.read_bytes().replace(b"please", b"pleasE"))
    done = cli("verify", out)
    assert done.code == 1
    assert done.out.startswith("does not verify: run r")
    assert "line 4, event 3" in done.out


def test_verify_checks_a_ledger_where_it_lies(cli: Cli, ledger: Path) -> None:
    """Given a ledger, every run in it is checked; a key makes no sense there."""
    found = cli("verify", ledger, "--json")
    assert (found.code, [r["ok"] for r in found.json["runs"]]) == (0, [True, True])
    assert cli("verify", ledger, "--key", ledger).code == 2


def test_what_an_unsigned_export_says(cli: Cli, ledger: Path) -> None:
    """Unsigned is possible on request, makes no key, and is never authentic."""
    out = ledger.with_name("r.jsonl")
    assert cli("export", ledger, "r", "-o", out, "--unsigned", "--json").json["key"] is None
    assert not ledger.with_name("runs.db.key").exists()
    assert cli("verify", out).code == 0
    assert cli("export", ledger, "r", "-o", out, "--unsigned", "--sign-with", "k").code == 2


def test_a_json_command_prints_one_object(cli: Cli, ledger: Path) -> None:
    """stdout is one JSON object on one line, and stderr is empty."""
    out = ledger.with_name("r.jsonl")
    for args in (
        ["runs", "--ledger", ledger],
        ["show", ledger, "r"],
        ["export", ledger, "r", "-o", out],
        ["verify", out],
        ["verify", ledger],
    ):
        done = cli(*args, "--json")
        assert done.out.count("\n") == 1
        assert isinstance(json.loads(done.out), dict)
        assert done.err == ""


def test_runs_takes_the_ledger_with_and_without_the_option(cli: Cli, ledger: Path) -> None:
    """Like every other command, `runs FILE`; `--ledger FILE` is the same. It says that nothing was verified."""
    done = cli("runs", ledger)
    assert done.out == cli("runs", "--ledger", ledger).out
    assert "tallystick verify" in done.err
    assert cli("runs", ledger, "--json").json["verified"] is False


def test_show_reads_an_export_as_it_reads_the_ledger(cli: Cli, ledger: Path) -> None:
    """The same events and the same stage."""
    out = ledger.with_name("r.jsonl")
    cli("export", ledger, "r", "-o", out)
    assert cli("show", out).out == cli("show", ledger, "r").out
    assert cli("show", out, "r", "--json").json == cli("show", ledger, "r", "--json").json
    assert cli("show", out, "s").code == 2


def test_a_file_that_is_neither_is_said_to_be_neither(cli: Cli, tmp_path: Path) -> None:
    """A contract given for a ledger or an export is one line."""
    file = tmp_path / "hotel.yaml"
    file.write_text("contract: hotel/1\n" * 40, encoding="utf-8")
    for command in ("show", "recheck"):
        done = cli(command, file)
        assert (done.code, done.out) == (2, "")
        assert done.err.endswith("neither a ledger nor an export of a run (fix: give a ledger or an export)\n")
    verified = cli("verify", file)
    assert verified.code == 1
    assert verified.out == f"does not verify: {file} is no export of a run, and no ledger\n"


def test_one_damaged_run_does_not_hide_the_others_from_recheck(cli: Cli, ledger: Path) -> None:
    """The damaged one is reported, the others are rechecked, and the exit code is 1."""
    with sqlite3.connect(ledger) as sql:
        for (trigger,) in sql.execute("SELECT name FROM sqlite_master WHERE type='trigger'").fetchall():
            sql.execute(f"DROP TRIGGER {trigger}")
        changed = sql.execute(
            "UPDATE event SET raw = CAST(replace(CAST(raw AS TEXT), 'please', 'pleasE') AS BLOB)"
            " WHERE id / (1 << 40) = (SELECT no FROM run WHERE run = 'r')"
        )
        assert changed.rowcount
    done = cli("recheck", ledger, "--json")
    assert done.code == 1
    assert [r["run"] for r in done.json["runs"]] == ["r", "s"]
    assert "error" in done.json["runs"][0]
    assert done.json["runs"][0]["reproduces"] is False
    assert "run r cannot be rechecked: " in cli("recheck", ledger).out


def test_one_is_one(cli: Cli, tmp_path: Path) -> None:
    """A run of one event and one of several are counted in words that fit."""
    file = tmp_path / "one.db"
    store = SQLiteStore(file)
    filled(store, "r", (started(),))
    store.close()
    assert "run r, 1 event, " in cli("verify", file).out
    assert "run r, 1 event, unsigned" in cli("export", file, "r", "-o", tmp_path / "x", "--unsigned").out
