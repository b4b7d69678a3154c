"""`tallystick eval takeover`: one object with figures by stage, and one clear error for what cannot be run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tallystick.cli.app import run

KEYS = {
    "episodes", "engaged", "correct", "partial_after_live_failure", "writes_under_rejected", "duplicate_effects",
    "false_complete", "needless_refusal", "rejections", "tokens",
}  # fmt: skip


def _run(capfd: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = run(["eval", "takeover", *args])
    out, err = capfd.readouterr()
    return code, out, err


def test_the_object_has_every_figure_of_every_stage(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """And report, rows and text are kept."""
    code, out, _ = _run(capfd, "--surface", "invoice", "--episodes", "3", "--json", "--out", str(tmp_path / "run"))
    assert code == 0
    told = json.loads(out)
    for stage in ("direct", "certified_direct", "contract_plan", "full"):
        assert set(told[stage]) == KEYS
        assert told[stage]["episodes"] == 3
    assert told["scripted"] is True
    assert {"rows.jsonl", "report.json", "report.txt", "settings.json"} <= {
        p.name for p in (tmp_path / "run").iterdir()
    }
    assert json.loads((tmp_path / "run" / "report.json").read_text("utf-8")) == told


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--surface", "moon"], "there is no surface `moon`"),
        (["--surface", "toolsandbox"], "run-takeover-suite.md"),
        (["--surface", "state-bench"], "name a checkout"),
        (["--surface", "state-bench", "--state-bench", "/nowhere"], "/nowhere"),
        (["--surface", "no_such_module:Name"], "cannot be imported"),
        (["--state-bench", "x"], "only one surface reads a checkout"),
        (["--episodes", "0"], "too few"),
        (["--runs", "0"], "too few"),
        (["--mend", "2"], "no probability"),
        (["--stage", "half"], "there is no stage `half`"),
        (["--successor", "brilliant"], "no scripted successor"),
        (["--successor", "local:qwen2.5-coder-0.5b"], "kept"),
        (["--base-url", "http://127.0.0.1:9/v1"], "no model to reach"),
        (["--cheap", "local"], "a pair is two"),
        (["--cheap", "scripted", "--strong", "local"], "no pair"),
        (["--cheap", "scripted", "--strong", "scripted", "--method", "luck"], "there is no method `luck`"),
        (["--cheap", "scripted", "--strong", "scripted", "--stage", "full"], "would do nothing"),
        (["--cheap", "scripted", "--strong", "scripted", "--surface", "retail"], "invoice desk only"),
        (["--method", "full"], "only a pair"),
        (["--prices", "x"], "only a pair"),
        (["--surface", "all", "--episodes", "3"], "--episodes would do nothing"),
        (["--surface", "all", "--out", "x"], "--out would do nothing"),
        (["--surface", "json:dumps"], "Attach a surface of your own"),
        (["--successor", "brilliant"], "a model with --base-url"),
        (["--cheap", "one", "--strong", "two", "--out", "OUT"], "--strong: the model `two` needs an endpoint"),
        (["--successor", "local:nope", "--out", "OUT"], "--successor: there is no local model `nope`"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_one_clear_error(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, args: list[str], says: str
) -> None:
    """Exit 2, and where."""
    code, out, err = _run(capfd, *(str(tmp_path / "out") if arg == "OUT" else arg for arg in args))
    assert (code, out) == (2, "")
    assert says in err.replace("\n", " ")
    assert "Traceback" not in err
