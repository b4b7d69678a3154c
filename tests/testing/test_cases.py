"""The cases runner: general rules, honest counting, one clear error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.errors import InputError
from tallystick.testing.cases import Case, answer, load, loads, run
from tallystick.testing.cases.__main__ import main
from tallystick.testing.cases.kinds import KINDS, VERDICTS, agrees

HERE = Path(__file__).parent / "cases"
FILES = sorted(HERE.glob("*.jsonl"))
POSITIVE = ("allow", "accept", "import_ok")


def raw_cases(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def read_back(cases: list[dict[str, Any]]) -> list[Case]:
    return list(loads("\n".join(map(json.dumps, cases)).encode(), "here"))


@pytest.fixture(scope="session")
def published(shared: Path) -> Path:
    return shared / "cases" / "cases.jsonl"


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_every_case_of_our_own_agrees(file: Path) -> None:
    result = run(load(file))
    assert [i for i in result.items if not i.agree] == []


@pytest.mark.shared
def test_at_least_78_of_the_published_cases_agree_among_them_all_positive_ones(published: Path) -> None:
    cases = load(published)
    result = run(cases)
    assert len(cases) == 91
    assert result.agree >= 78
    positive = [i.agree for i, c in zip(result.items, cases, strict=True) if c.verdict in POSITIVE]
    assert len(positive) == 11
    assert all(positive)


@pytest.mark.shared
def test_the_documented_disagreements_are_the_disagreements(published: Path, root: Path) -> None:
    page = (root / "docs" / "reference" / "cases.md").read_text(encoding="utf-8")
    result = run(load(published))
    known = page.partition("## Known disagreements")[2]
    for item in result.items:
        assert (f"**{item.id}**" in known) == (not item.agree)
    assert f"{result.agree} of the 91 published cases agree" in known


@pytest.mark.shared
def test_the_figures_on_the_page_are_the_figures(published: Path, root: Path) -> None:
    page = " ".join((root / "docs" / "reference" / "cases.md").read_text(encoding="utf-8").split())
    cases = load(published)
    decisions = [answer(c.scene).decision for c in cases]
    counts = [len(d.reasons) for d in decisions]
    first = sum(
        agrees(msgspec.structs.replace(d, reasons=d.reasons[:1]), c.verdict, c.reason_kind)
        for d, c in zip(decisions, cases, strict=True)
    )
    mean = sum(counts) / len(counts)
    said = f"{mean:.1f} reasons on average, {max(counts)} at most, and {first} agree by their first reason alone"
    assert said in page


@pytest.mark.shared
def test_names_titles_and_expectations_do_not_change_an_answer(published: Path) -> None:
    cases = raw_cases(published)
    before = [answer(c.scene).decision for c in read_back(cases)]
    for number, case in enumerate(cases):
        case.update(id=f"z{number}", title="t", theme="t", symptom="s", notes="n", source={})
        case["expected"] = {"verdict": "allow", "reason_kind": "ok", "why": "", "detail": {}}
    assert [answer(c.scene).decision for c in read_back(cases)] == before


@pytest.mark.shared
def test_renaming_ids_does_not_change_a_verdict(published: Path) -> None:
    cases = raw_cases(published)
    for old, new in (("O-", "Zk-"), ("AC-", "ACC-"), ("K-4", "QQ-4"), ("T-", "TT-")):
        mine = [c for c in cases if old in json.dumps(c) and new not in json.dumps(c)]
        renamed = [json.loads(json.dumps(c).replace(old, new)) for c in mine]
        for left, right in zip(read_back(mine), read_back(renamed), strict=True):
            assert answer(left.scene).decision.codes == answer(right.scene).decision.codes, left.label


@pytest.mark.shared
def test_a_runner_of_constants_would_not_agree(published: Path) -> None:
    cases = load(published)
    result = run(cases)
    assert result.agree > 4 * result.constant_baseline
    assert result.constant_verdicts < result.same_verdict


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_another_expectation_disagrees(file: Path) -> None:
    for case in load(file):
        decision = answer(case.scene).decision
        assert agrees(decision, case.verdict, case.reason_kind)
        others = [v for v in VERDICTS if decision.verdict not in VERDICTS[v]]
        assert not any(agrees(decision, verdict, case.reason_kind) for verdict in others)
        assert not agrees(decision, case.verdict, "no_such_kind")
        # No decision means more than a handful of kinds: the table is no net that catches everything.
        assert sum(agrees(decision, case.verdict, kind) for kind in KINDS) <= 5


def test_pairs_differ_only_in_what_makes_the_difference() -> None:
    """The accepted and the rejected file tell of the same tools; only the record or the words differ."""
    accepted, rejected = (raw_cases(HERE / f"{name}.jsonl") for name in ("accepted", "rejected"))
    shared_tools = {json.dumps(c["tools"]) for c in accepted} & {json.dumps(c["tools"]) for c in rejected}
    assert len(shared_tools) >= 10


# ---------------------------------------------------------------- damage to each piece of evidence

CLAIMS = [c for c in raw_cases(HERE / "accepted.jsonl") if c["attempt"].get("claims")]


@pytest.mark.parametrize("case", CLAIMS, ids=lambda c: c["id"])
def test_losing_the_cited_results_never_leaves_a_claim_accepted(case: dict[str, Any]) -> None:
    cited = {str(c).partition("#")[0] for claim in case["attempt"]["claims"] for c in claim["cites"]}
    case = {**case, "raw": None, "format": "runtime"}
    case["events"] = [
        e for e in case["events"] if not (e["kind"] == "result" and str(e.get("call_id")).partition("#")[0] in cited)
    ]
    (damaged,) = read_back([case])
    assert not answer(damaged.scene).decision.positive


@pytest.mark.parametrize("case", CLAIMS, ids=lambda c: c["id"])
def test_flagging_every_result_an_error_never_leaves_a_claim_accepted(case: dict[str, Any]) -> None:
    case = json.loads(json.dumps({**case, "raw": None, "format": "runtime"}))
    for event in case["events"]:
        if event["kind"] == "result":
            event["flag"] = "error"
    (damaged,) = read_back([case])
    assert not answer(damaged.scene).decision.positive


# ---------------------------------------------------------------- bad input

GOOD = raw_cases(HERE / "calls.jsonl")[0]
JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=8), st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=2), st.floats(allow_nan=False, allow_infinity=False),
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        found += [p for k, v in value.items() for p in places(v, (*path, k))]
    elif isinstance(value, list):
        found += [p for i, v in enumerate(value) for p in places(v, (*path, i))]
    return found


def changed(value: Any, path: tuple[Any, ...], new: Any, *, drop: bool) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1 and drop:
        del copy[path[0]]
    else:
        copy[path[0]] = changed(copy[path[0]], path[1:], new, drop=drop)
    return copy


ALL = [c for file in FILES for c in raw_cases(file)]


def error_of(case: Any) -> InputError | None:
    """Judge a case; return the one error it is refused with, if any."""
    try:
        run(read_back([case]))
    except InputError as bad:
        return bad
    return None


@settings(max_examples=600)
@given(st.data())
def test_a_damaged_case_is_judged_or_refused_in_one_clear_error(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(ALL))
    path = data.draw(st.sampled_from(places(case)[1:]))
    damaged = changed(case, path, data.draw(JUNK), drop=data.draw(st.booleans()))
    said = error_of(damaged)
    assert said is None or (said.where and said.message)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no cases"),
        ("[1]", "a case is a JSON object"),
        ("{", "not JSON"),
        ('{"tools": [], "events": [], "attempt": {"kind": "call"}}', "`expected` is missing"),
        (
            '{"expected": {"verdict": "allow", "reason_kind": "ok"}, "tools": 1, "events": [], "attempt": {}}',
            "not a list",
        ),
        (json.dumps({**GOOD, "events": [{"kind": "rumour"}]}), "unknown event kind `rumour`"),
        (json.dumps({**GOOD, "tools": [*GOOD["tools"], GOOD["tools"][0]]}), "declared twice"),
        (json.dumps({**GOOD, "attempt": {"kind": "dance"}}), "unknown attempt kind `dance`"),
        (json.dumps({**GOOD, "tools": [{"name": "a b c", "effect": "read"}]}), "a b c"),
        (json.dumps({**GOOD, "format": "openai_chat", "raw": [{"role": "user", "content": "hi"}]}), "`raw` tells of 0"),
        ('{"tools": NaN}', "NaN"),
        ('{"a": 1, "a": 2}', "appears twice"),
        ('{"a": "\\ud800"}', "surrogate"),
        ("[" * 5_000, "nested deeper"),
    ],
)
def test_bad_files_get_one_error_line_and_exit_2(
    text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(text, encoding="utf-8")
    assert main([str(file), "--json"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert says in err
    assert "Traceback" not in err


def test_a_missing_file_and_a_wrong_encoding_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.jsonl")]) == 2
    assert "no such file" in capsys.readouterr().err
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes('{"goal": "Malmö"}'.encode("latin-1"))
    assert main([str(latin)]) == 2
    assert "not UTF-8" in capsys.readouterr().err


def test_the_command_prints_one_json_object_and_nothing_else() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tallystick.testing.cases", str(HERE / "rejected.jsonl"), "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert set(found) == {"agree", "disagree", "constant_baseline", "items"}
    assert found["agree"] == len(found["items"]) == 20
    assert set(found["items"][0]) == {"id", "agree", "expected", "got", "reason"}
    assert done.stderr == ""


def test_the_text_output_ends_with_the_count(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(HERE / "calls.jsonl")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "24 agree, 0 disagree"


def test_the_page_lists_the_table_of_kinds(root: Path) -> None:
    page = (root / "docs" / "reference" / "cases.md").read_text(encoding="utf-8")
    rows = {row.split("|")[1].strip(): row for row in page.partition("## Reason kinds")[2].splitlines() if "| `" in row}
    assert set(rows) == set(KINDS)
    for kind, codes in KINDS.items():
        assert all(f"`{code.partition('@')[0]}`" in rows[kind] for code in codes)
