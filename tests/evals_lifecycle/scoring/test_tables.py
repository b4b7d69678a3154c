"""Analyses, tables and figures of every study; the published figures and what they must add up to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tallystick.errors import InputError
from tallystick.evals.lifecycle import figures, measures, models, proxy
from tallystick.evals.lifecycle.analysis import STUDIES, analyse, plain
from tallystick.evals.lifecycle.columns import columns
from tallystick.evals.lifecycle.labels import LABELS
from tallystick.evals.lifecycle.row import Reply, Row
from tallystick.evals.lifecycle.suite import studies
from tallystick.evals.lifecycle.suite.kept import rows as rows_of
from tallystick.evals.lifecycle.suite.reporters import scripted
from tallystick.evals.lifecycle.suite.run import answered
from tallystick.evals.lifecycle.suite.studies import items
from tallystick.evals.lifecycle.table import Table, markdown, published, text
from tallystick.evals.lifecycle.tables import tables

WHO = ("truthful", "lost", "drops:0.1")


def replies(study: str, times: int = 1) -> list[Row]:
    found = items(study)
    return [r for w in WHO for r in rows_of(found, answered(found, scripted(f"scripted:{w}"), times))]


@pytest.fixture(scope="module")
def told() -> dict[str, dict[str, Any]]:
    """Every study's analysis, as a report has it."""
    return {s: plain(analyse(s, replies(s), fit=s == "main")) for s in STUDIES}


def of(made: list[Table], key: str) -> Table:
    return next(t for t in made if t.key == key)


def test_there_is_an_analysis_for_every_study_of_the_suite() -> None:
    """No study is run and then not told about."""
    assert STUDIES == studies.STUDIES


@pytest.mark.parametrize("study", STUDIES)
def test_every_table_has_a_label_and_whole_rows(study: str, told: dict[str, dict[str, Any]]) -> None:
    """One of the four labels; rows as long as the head; ours and the paper's never under one name."""
    made = tables(study, told[study])
    assert made
    assert len({t.key for t in made}) == len(made)
    for table in made:
        assert table.label in LABELS
        assert table.title
        assert all(len(row) == len(table.head) for row in table.rows), table.key
        theirs = [row for row in table.rows if row[0].startswith("published: ")]
        assert bool(theirs) <= bool(table.source), table.key
    shown = text(made)
    assert all(f"[{t.label}]" in shown for t in made)
    assert markdown(made).count("\n### ") + 1 == len(made)


def test_the_main_table_shows_the_measures(told: dict[str, dict[str, Any]]) -> None:
    """The cells are the measures' own numbers, and the published row is the paper's."""
    rows = replies("main")
    made = tables("main", told["main"])
    line = next(r for r in of(made, "stages").rows if r[0] == "scripted:lost")
    own = columns(rows).only(arm="baseline", deployment="scripted:lost")
    shown = [one.over_scenarios.shown() for one in measures.by_checkpoint(own).values()]
    assert list(line[1:5]) == shown
    assert line[5] == measures.delta(own).shown(sign=True)
    paper = next(r for r in of(made, "stages").rows if r[0] == "published: gpt-5.5")
    assert paper[1:6] == ("57.7", "58.2", "34.5", "54.4", "-4.2 [-11.5, +2.6]")
    fits = of(made, "mixed").rows
    assert next(r for r in fits if r[0] == "scripted:truthful")[1].startswith("not estimable (")
    lost = models.mixed(models.rows_of(columns(rows)).only(deployment="scripted:lost"))
    assert next(r for r in fits if r[0] == "scripted:lost")[1] == lost.shown(1, 3, sign=True)


def test_readings_stand_beside_each_other(told: dict[str, dict[str, Any]]) -> None:
    """Strict and stripped for every measure, in every study scored by the stage parser."""
    for study in STUDIES:
        made = tables(study, told[study])
        names = [row[0] for t in made if t.key.startswith("readings") for row in t.rows]
        assert sorted(names) == ([] if study == "obligations" else sorted(measures.MEASURES))


def test_what_conditions_on_an_emitted_report_is_labelled_so(told: dict[str, dict[str, Any]]) -> None:
    """nu is post-treatment descriptive wherever it stands, interventions are interventions."""
    bundle = tables("bundle", told["bundle"])
    assert of(bundle, "bundle-nu").label == "Post-treatment descriptive"
    assert of(bundle, "bundle").label == "Controlled intervention"
    for study in STUDIES:
        for table in tables(study, told[study]):
            has_nu = any(row[0] == "nu" for row in table.rows) or any(h.startswith("nu") for h in table.head)
            assert not has_nu or table.label == "Post-treatment descriptive"


def test_studies_are_never_pooled() -> None:
    """A row of another study, or of its English twin, is refused."""
    row = replies("bundle")[0]
    with pytest.raises(InputError, match="bundle-en"):
        analyse("bundle", [row, msgspec.structs.replace(row, study="bundle-en")])
    with pytest.raises(InputError, match="no study"):
        analyse("elsewhere", [row])


def test_the_papers_figures_add_up() -> None:
    """What can be recomputed from the printed tables is the printed number: the transcription is right."""
    found = published()
    for name, row in found["main"]["rows"].items():
        theta = row["theta"]
        assert sum(theta[:3]) / 3 - theta[3] == pytest.approx(row["delta"], abs=0.15), name
        assert found["effects"]["rows"][name][2] == row["delta"]
        assert row["ci"][0] < row["delta"] < row["ci"][1]
    for row in found["breadth"]["rows"].values():
        for before, last, gap in row.values():
            assert before - last == pytest.approx(gap, abs=0.15)
    each = found["rollouts"]["deployments"]
    sums = [100 * sum(column) / 576 for column in zip(*each.values(), strict=True)]
    arms = found["rollouts"]["rows"]
    assert sums[:4] == pytest.approx([arms["B1"][k] for k in ("ok", "dead_end", "premature", "stall")], abs=0.06)
    assert sums[4:] == pytest.approx([arms["B2"][k] for k in ("ok", "stall")], abs=0.06)
    rows = {k: v for k, v in found["obligations"]["rows"].items() if k != "mean"}
    mean = found["obligations"]["rows"]["mean"]
    for duty in ("O1", "O2", "O3"):
        for n in (0, 1):
            assert sum(r[duty][n] for r in rows.values()) / 9 == pytest.approx(mean[duty][n], abs=0.5)
    assert sum(r["O3_int"] for r in rows.values()) / 9 == pytest.approx(mean["O3_int"], abs=0.06)
    for name, shown in found["tau2"]["readings"].items():
        for kind, values in shown.items():
            counted = found["tau2"]["rows"].get(name if kind == "strict" else f"{name} stripped")
            if counted:
                middle = [sum(c) for c in zip(*counted[1:6], strict=True)]
                shares = [100 * a / b for a, b in (counted[0], middle, counted[6])]
                # Checkpoints without a depth are in the printed share and in none of the five columns.
                assert shares == pytest.approx(values, abs=0.6)


@pytest.mark.shared
def test_every_published_deployment_is_in_the_source(shared: Path) -> None:
    """And so is each number of the main table."""
    seed = (shared / "seeds" / "unreliable-progress-bar.txt").read_text(encoding="utf-8")
    for name, row in published()["main"]["rows"].items():
        shown = " ".join(f"{v:.1f}" for v in row["theta"])
        assert re.search(re.escape(f"{name} {shown}"), seed), name
    for name, cells in published()["tau2"]["rows"].items():
        shown = " ".join(f"{a}/{b}" for a, b in cells)
        label = name.replace(" stripped", ", envelope stripped")
        assert f"{label} {shown}" in seed, name


def test_figures_are_drawn_and_are_the_same_twice(told: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    """Stage curves, composition, matrix, arms, contrasts and crossed effects; scripted reporters are named in each."""
    pytest.importorskip("matplotlib")
    drawn: set[str] = set()
    for study in ("main", "five_arms", "crossed", "bundle"):
        report = {"study": study, "scripted": ["scripted:lost"], "analysis": told[study]}
        names = figures.save(report, tmp_path / "a")
        assert figures.save(report, tmp_path / "b") == names
        drawn |= {Path(n).stem for n in names}
        for name in names:
            data = (tmp_path / "a" / name).read_bytes()
            assert data
            if name.endswith(".svg"):
                assert data == (tmp_path / "b" / name).read_bytes()
                assert b"SCRIPTED reporters" in data
    assert drawn == {"stages", "composition", "matrix", "arms", "contrasts", "crossed"}
    assert figures.draw({"study": "main", "scripted": []}) == {}


def test_the_task_proxy_passes_the_script_and_not_small_talk() -> None:
    """The scripts' own turns pass wherever the proxy says something; a courtesy passes nowhere."""
    found = items("demand")
    own = rows_of(found, answered(found, scripted("scripted:silent"), 1))
    told = [(r.checkpoint, proxy.passes(r)) for r in own]
    assert {p for p, passed in told if passed is None} == {"act"}
    due = [passed for p, passed in told if p != "act"]
    assert sum(map(bool, due)) >= 0.95 * len(due)
    idle = [msgspec.structs.replace(r, reply=Reply(text="OK")) for r in own]
    assert not any(proxy.passes(r) for r in idle)
    assert proxy.passes(msgspec.structs.replace(own[0], reply=Reply(mode="act"))) is None
    assert proxy.passes(msgspec.structs.replace(own[0], reply=Reply(valid=False))) is None
