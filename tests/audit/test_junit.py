"""JUnit: what CI systems count, and what both reports share, files that are whole and replace nothing of value."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.audit.findings import Finding, Report
from tallystick.audit.junit import Junit
from tallystick.audit.summary import Summary
from tallystick.errors import InputError
from tests.audit.reporting import CLEAN, INVENTED, TWICE, UNSEEN, run, save


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def suites(*paths: str, **more: Any) -> dict[str | None, Xml.Element]:
    run(*paths, junit="out.xml", **more)
    root = Xml.parse("out.xml").getroot()
    assert root.tag == "testsuites"
    found = {suite.get("name"): suite for suite in root}
    assert len(found) == len(root), "one suite for each folder and format"
    for suite in root:
        assert len(suite.findall("testcase")) == int(suite.get("tests", ""))
        assert len(suite.findall("testcase/failure")) == int(suite.get("failures", ""))
        assert len(suite.findall("testcase/error")) == int(suite.get("errors", ""))
    return found


def test_a_suite_for_each_folder_and_format_and_a_case_for_each_trace() -> None:
    save(Path("t/a/1.json"), CLEAN)
    save(Path("t/a/deep/2.json"), TWICE)
    save(Path("t/a/z.json"), CLEAN)
    save(Path("t/log.jsonl"), CLEAN, TWICE)
    chat = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]}
    Path("t/a/chat.json").write_text(json.dumps(chat))
    found = suites("t")
    names = {name: [case.get("name") for case in suite] for name, suite in found.items()}
    assert names == {
        "t/a/deep (state-bench)": ["2.json"],
        "t/a (state-bench)": ["1.json", "z.json"],
        "t/a (openai-chat)": ["chat.json"],
        "t (state-bench)": ["log.jsonl#1", "log.jsonl#2"],
    }
    (case,) = found["t/a/deep (state-bench)"]
    assert (case.get("classname"), case.get("file")) == ("t/a/deep", "t/a/deep/2.json")
    assert suites("t", jobs=2).keys() == found.keys()


def test_errors_fail_a_case_and_warnings_only_speak() -> None:
    save(Path("t/clean.json"), CLEAN)
    save(Path("t/invented.json"), INVENTED)
    save(Path("t/unseen.json"), UNSEEN)
    (suite,) = suites("t").values()
    clean, invented, unseen = suite
    assert len(clean) == 0
    (failure,) = invented.findall("failure")
    assert failure.get("type") == "args.unsupported_id"
    assert "O-99" in failure.get("message", "")
    assert "error m1.c0/args/order_id args.unsupported_id" in (failure.text or "")
    assert (failure.text or "").endswith("[guess]")
    assert unseen.find("failure") is None
    assert "warning m1.c1" in (unseen.findtext("system-out") or "")
    assert "preview.unseen" in (unseen.findtext("system-out") or "")


def test_a_file_that_could_not_be_used_is_a_case_in_error() -> None:
    save(Path("t/clean.json"), CLEAN)
    Path("t/broken.json").write_text("{")
    Path("t/other.json").write_text('{"debug": true}')
    found = suites("t")
    (case,) = found["t (unusable)"]
    assert case.get("name") == "broken.json"
    assert case.find("error") is not None
    assert len(found) == 2
    assert suites("nowhere")


def test_a_line_that_holds_no_conversation_is_a_case_in_error() -> None:
    log = save(Path("t/log.jsonl"), CLEAN, CLEAN)
    log.write_text(log.read_text().replace("\n", "\nno json\n", 1))
    (suite,) = suites("t").values()
    wrong = {case.get("name"): case.find("error") is not None for case in suite}
    assert list(wrong.values()).count(True) == 1
    assert wrong["log.jsonl#2"]


@given(st.text(), st.text(min_size=1), st.text(min_size=1).filter(lambda s: "\0" not in s))
def test_any_text_gives_well_formed_xml(message: str, trace: str, source: str) -> None:
    findings = tuple(Finding(code="made.up", severity=s, message=message) for s in ("error", "warning"))  # type: ignore[arg-type]  # both are severities
    with Path("any").open("w+b") as stream:
        document = Junit(stream)
        document.report(Report(trace=trace, source=source, format="f", sha256="", messages=1, calls=0, paired=0,
                               findings=findings))  # fmt: skip
        document.close(Summary(), [], [])
    case = Xml.parse("any").getroot()[0][0]
    assert [child.tag for child in case] == ["failure", "system-out"]
    if message.isprintable() and message:
        assert message in (case[0].text or "")


OPTIONS = ("sarif", "junit")


@pytest.mark.parametrize("option", OPTIONS)
def test_exit_codes_and_the_other_outputs_are_as_without_it(option: str) -> None:
    save(Path("clean/x.json"), CLEAN)
    save(Path("twice/x.json"), TWICE)
    Path("broken.json").write_text("{")
    for paths in (["clean"], ["twice"], ["nowhere"], ["twice", "broken.json"]):
        for json_ in (True, False):
            assert run(*paths, json=json_, **{option: "out"}) == run(*paths, json=json_)
            Path("out").unlink()


@pytest.mark.parametrize("option", OPTIONS)
def test_a_dash_gives_stdout_to_the_report_alone(option: str) -> None:
    save(Path("t/x.json"), TWICE)
    code, out, _ = run("t", **{option: "-"})
    run("t", **{option: "out"})
    assert (code, out) == (1, Path("out").read_text("utf-8"))
    assert not Path("-").exists()
    with pytest.raises(InputError, match="both want stdout"):
        run("t", json=True, **{option: "-"})


def test_two_reports_never_share_a_place() -> None:
    save(Path("t/x.json"), TWICE)
    for both in ("-", "out"):
        with pytest.raises(InputError, match="same place"):
            run("t", sarif=both, junit=both)
    assert not Path("out").exists()
    run("t", sarif="out.sarif", junit="out.xml")
    assert json.loads(Path("out.sarif").read_bytes())["version"] == "2.1.0"
    assert Xml.parse("out.xml").getroot().tag == "testsuites"


@pytest.mark.parametrize("option", OPTIONS)
def test_nothing_but_such_a_report_is_replaced(option: str) -> None:
    trace = save(Path("t/x.json"), TWICE)
    Path("ledger.db").write_bytes(b"SQLite format 3\x00" + bytes(84))
    Path("contract.yaml").write_text("version: 1\n")
    Path("other.xml").write_text("<html/>")
    for kept in (trace, Path("ledger.db"), Path("contract.yaml"), Path("other.xml")):
        before = kept.read_bytes()
        with pytest.raises(InputError, match="would be lost"):
            run("t", **{option: str(kept)})
        assert kept.read_bytes() == before
    for place, says in (("t", "is a folder"), ("nowhere/out", "no such folder"), ("/dev/null", "no regular file")):
        with pytest.raises(InputError, match=says):
            run("t", **{option: place})
    run("t", **{option: "out"})
    first = Path("out").read_bytes()
    save(Path("t/y.json"), INVENTED)
    run("t", **{option: "out"})
    assert len(Path("out").read_bytes()) > len(first)
    other = next(o for o in OPTIONS if o != option)
    with pytest.raises(InputError, match="would be lost"):
        run("t", **{other: "out"})


@pytest.mark.parametrize("option", OPTIONS)
def test_an_audit_that_breaks_off_leaves_the_old_report_and_no_draft(
    option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(Path("t/x.json"), TWICE)
    run("t", **{option: "out"})
    before = Path("out").read_bytes()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Summary, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run("t", **{option: "out"})
    assert Path("out").read_bytes() == before
    assert sorted(p.name for p in Path().iterdir()) == ["out", "t"]


def test_a_folder_twenty_times_as_large_takes_no_more_memory() -> None:
    script = (
        "import resource, sys; from tallystick.audit.__main__ import main; main(sys.argv[1:]);"
        "sys.stderr.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))"
    )
    wordy = [INVENTED[0], {**INVENTED[1], "content": "x" * 20_000}]
    peaks = []
    for size in (40, 800):
        for n in range(size):
            save(Path(f"{size}/{n % 3}/{n}.json"), wordy)
        done = subprocess.run(
            [sys.executable, "-c", script, str(size), "--sarif", f"{size}.sarif", "--junit", f"{size}.xml"],
            check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert len(json.loads(Path(f"{size}.sarif").read_bytes())["runs"][0]["results"]) >= size
        assert sum(int(s.get("tests", "")) for s in Xml.parse(f"{size}.xml").getroot()) == size
        peaks.append(int(done.stderr.rpartition("\n")[2]))
    assert peaks[1] < peaks[0] * 1.15
