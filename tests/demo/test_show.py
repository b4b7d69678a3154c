"""What the demo prints is what the desks and the ledger say."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from rich.console import Console

from tallystick.demo.agents import ScriptedAgent
from tallystick.demo.compare import Comparison, compare
from tallystick.demo.desk import ALL_FAULTS, Faults, Truth
from tallystick.demo.show import JOB, agent_of, draw, run_demo
from tallystick.errors import InputError
from tallystick.ledger.sqlite import SQLiteStore
from tests.demo.fake_endpoint import serving, turn


def printed(found: Comparison) -> str:
    out = io.StringIO()
    draw(found, Console(file=out, width=100))
    return out.getvalue()


def row(text: str, name: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith("│") and name in line]
    return [" ".join(cell.split()) for cell in line.strip("│").split("│")][1:]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    return compare(ScriptedAgent(), JOB, ALL_FAULTS, folder=tmp_path_factory.mktemp("desks"), ledger=None)


def test_the_table_reads_at_a_glance(found: Comparison) -> None:
    text = printed(found)
    assert row(text, "paid for I-7") == ["840.00 EUR paid twice", "420.00 EUR paid once"]
    assert row(text, "receipt delivered") == ["no", "yes"]
    assert row(text, "read before paying") == ["no", "yes"]
    assert row(text, 'agent said "done"') == ["believed", "refused twice, then accepted"]
    assert row(text, "final status") == ["none", "CERTIFIED"]
    assert "scripted agent, simulated desk" in text


def test_the_table_follows_the_facts(found: Comparison) -> None:
    worse = Truth(paid=Decimal("1260.00"), payments=3, deliveries=0, seen_first=None)
    text = printed(replace(found, guarded=replace(found.guarded, truth=worse, status="IN_DOUBT")))
    assert row(text, "paid for I-7")[1] == "1260.00 EUR paid 3 times"
    assert row(text, "receipt delivered")[1] == "no"
    assert row(text, "read before paying")[1] == "-"
    assert row(text, "final status")[1] == "IN_DOUBT"


def test_every_reason_the_guard_gave_is_printed_with_its_code(found: Comparison) -> None:
    text = printed(found)
    codes = {r.code for step in found.guarded.steps for r in step.reasons}
    assert {"effect.duplicate", "obligation.open", "receipt.unknown"} <= codes
    assert all(code in text for code in codes)


def test_the_table_fits_eighty_columns(found: Comparison) -> None:
    out = io.StringIO()
    draw(found, Console(file=out, width=80, force_terminal=True, no_color=True, legacy_windows=False))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert max(map(len, plain.splitlines())) <= 80
    out = io.StringIO()
    draw(found, Console(file=out, width=80))
    assert row(out.getvalue(), "paid for I-7")[0] == "840.00 EUR paid twice"


def test_into_a_pipe_nothing_is_padded_or_wrapped(found: Comparison) -> None:
    """Each reason is one line, so that it can be searched for, and no line ends in blanks."""
    out = io.StringIO()
    draw(found, Console(file=out, width=40))
    lines = out.getvalue().split("What the guard answered")[1].splitlines()
    assert all(line == line.rstrip() for line in lines)
    reasons = [r.message for s in found.guarded.steps if s.verdict != "accept" for r in s.reasons]
    assert reasons
    assert all(any(message in line for line in lines) for message in reasons)


def test_without_faults_the_log_says_whose_doing_a_refusal_is() -> None:
    out = io.StringIO()
    run_demo(out=out, faults=Faults())
    assert "no fault was set; what is refused is what the agent itself left out" in out.getvalue()


def test_json_is_one_object_that_says_the_same(tmp_path: Path) -> None:
    out = io.StringIO()
    ledger = tmp_path / "demo.db"
    assert run_demo(out=out, ledger=ledger, json=True) == 0
    shown = json.loads(out.getvalue())
    assert shown["agent"] == "scripted agent"
    assert shown["desk"] == "simulated"
    assert shown["faults"] == list(ALL_FAULTS.names)
    assert (shown["unguarded"]["paid"], shown["guarded"]["paid"]) == ("840.00", "420.00")
    assert shown["guarded"]["status"] == "CERTIFIED"
    assert shown["ledger"] == str(ledger)


def test_ledger_keeps_every_run(tmp_path: Path) -> None:
    ledger = tmp_path / "demo.db"
    texts = []
    for _ in range(2):
        out = io.StringIO()
        run_demo(out=out, ledger=ledger, faults=Faults())
        texts.append(out.getvalue())
    store = SQLiteStore(ledger)
    rows = store.runs()
    store.close()
    assert [r.status for r in rows] == ["CERTIFIED", "CERTIFIED"]
    assert all(r.run in text for r, text in zip(rows, texts, strict=True))


def test_without_a_ledger_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run_demo(out=io.StringIO())
    assert list(tmp_path.iterdir()) == []


def test_a_model_is_labelled_as_one() -> None:
    out = io.StringIO()
    with serving(turn("Done.")) as endpoint:
        run_demo(out=out, model="tiny", base_url=endpoint.url, json=True)
    shown = json.loads(out.getvalue())
    assert shown["agent"] == "model tiny"
    assert shown["unguarded"]["done_accepted"] is True
    assert shown["guarded"]["status"] == "UNCERTIFIED"


def test_a_file_that_is_no_ledger_is_refused_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("precious " * 500)
    with pytest.raises(Exception, match="notes") as bad:
        run_demo(out=io.StringIO(), ledger=file)
    assert type(bad.value).__module__ == "tallystick.errors"
    assert file.read_text() == "precious " * 500


@pytest.mark.parametrize(("model", "base_url"), [("tiny", None), (None, "http://127.0.0.1:1/v1")])
def test_model_and_base_url_belong_together(model: str | None, base_url: str | None) -> None:
    with pytest.raises(InputError, match="missing"):
        agent_of(model=model, base_url=base_url)
