"""The command, its JSON, its tables and figures, and the critic that needs a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tallystick.errors import InputError
from tallystick.evals.common import drawing
from tallystick.evals.termination import figures
from tallystick.evals.termination.critic import KEPT, Critic, transcript
from tallystick.evals.termination.policies import DETERMINISTIC, MODEL, ORDER
from tallystick.evals.termination.snapshot import Labelled
from tallystick.evals.termination.static import static
from tallystick.evals.termination.tables import text
from tallystick.model.certificate import CHECKS
from tallystick.models import ChatEndpoint
from tests.cli.conftest import Cli, cli
from tests.evals.fake_model import endpoint

__all__ = ["cli"]


def test_the_json_has_exactly_the_promised_fields_and_is_kept_with_text_and_figures(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the `evals` extra is not installed")
    done = cli("eval", "termination", "--static", "--json", "--out", tmp_path / "kept")
    assert done.code == 0
    for split in ("heldout", "development"):
        told = done.json[split]
        assert set(told["policies"]) == set(ORDER)
        assert told["policies"][MODEL] is None
        assert {"U", "C", "S", "macro_f1"} <= set(told["policies"]["ect"])
        assert set(told["ablations"]) == set(CHECKS)
        assert all("delta_U" in row for row in told["ablations"].values())
        assert set(told["difference"]) == {"points", "low", "high"}
    assert done.json["manifest_ok"] is True
    assert json.loads((tmp_path / "kept" / "report.json").read_text(encoding="utf-8")) == done.json
    assert (tmp_path / "kept" / "report.txt").read_text(encoding="utf-8").startswith("Static study of termination")
    names = {p.name for p in (tmp_path / "kept" / "figures").iterdir()}
    assert names == {f"{n}.{k}" for n in ("unsafe", "faults", "ablations") for k in ("svg", "png")}


def test_the_text_sets_the_published_figures_beside_ours_and_says_whose_they_are(told: dict[str, Any]) -> None:
    shown = text(told)
    for words in (
        "252, 0, 36, 0.222", "table 2", "not run, it needs a model (--model)",
        "reconstructed to match the published counts",
        "-87.50 pp [-87.50, -87.50] (95%, over tasks)", "published: -87.50 pp [-87.50, -87.50] (abstract)",
        "+12 of 36", "F9 (ours)",
        "not ours, other tasks",
    ):  # fmt: skip
        assert words in shown
    assert max(map(len, shown.splitlines())) <= 120


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], "no study was asked for"),
        (["--static", "--closed-loop"], "both studies were asked for"),
        (["--static", "--base-url", "http://127.0.0.1:9"], "there is no model to reach"),
        (["--static", "--limit", "3"], "this belongs to the closed loop"),
        (["--closed-loop", "--temperature", "0.5"], "scripted agents have no temperature"),
        (["--static", "--model", "gpt"], "where `gpt` answers is not said"),
        (["--static", "--model", "local", "--base-url", "http://127.0.0.1:9"], "a local model has its own endpoint"),
    ],
)
def test_what_cannot_be_run_is_bad_input_with_a_fix(cli: Cli, args: list[str], words: str) -> None:
    done = cli("eval", "termination", *args, "--json")
    assert done.code == 2
    assert words in done.json["error"]["message"]
    assert done.json["error"]["fix"]


def test_the_same_report_gives_the_same_svg_and_names_what_is_not_ours(told: dict[str, Any]) -> None:
    pytest.importorskip("matplotlib", reason="the `evals` extra is not installed")
    first, second = (
        {name: drawing.rendered(figure, "svg") for name, figure in figures.draw(told).items()} for _ in range(2)
    )
    assert first == second
    assert all(b"not ours" in svg or name == "faults" for name, svg in first.items())
    assert b"reconstructed to match the published counts" in first["faults"]


# ---------------------------------------------------------------------- the critic


def test_the_critic_reads_words_calls_and_results_and_nothing_of_the_environment(
    labelled: tuple[Labelled, ...],
) -> None:
    one = next(s for s in labelled if s.condition == "F8").snapshot
    shown = transcript(one)
    assert one.task.request in shown
    assert one.family == "lookup"
    assert shown.count("call refresh_status") == 5
    assert "has not said that it is done" in shown
    assert "ready_after" not in shown


def test_a_model_fills_the_critics_row_and_its_answers_are_kept_and_not_asked_for_again(
    tmp_path: Path, labelled: tuple[Labelled, ...]
) -> None:
    asked: list[str] = []

    def reply(request: dict[str, Any]) -> dict[str, Any]:
        told = request["messages"][-1]["content"]
        asked.append(told)
        decision = "continue" if "has not said that it is done" in told else "complete"
        return {"role": "assistant", "content": json.dumps({"decision": decision})}

    with endpoint(reply) as url:
        critic = Critic(name="m", called="m", endpoint=ChatEndpoint(base_url=url))
        told = static(critic=critic, out=tmp_path, policies={n: DETERMINISTIC[n] for n in ("critic_core", "ect")})
        assert told["heldout"]["policies"][MODEL]["U"] == 252
        assert told["heldout"]["f9"][MODEL] == {"U": 36, "of": 36}
        assert told["model"]["name"] == "m"
        assert "full_trace_critic (m)" in text(told)
        assert len(asked) == 480
        again = critic.judge([s.snapshot for s in labelled], tmp_path)
    assert again.count("complete") == 432
    assert len(asked) == 480
    assert len((tmp_path / KEPT).read_bytes().splitlines()) == 480


def test_an_answer_that_is_no_decision_is_bad_input(labelled: tuple[Labelled, ...]) -> None:
    with endpoint(lambda _: {"role": "assistant", "content": '{"decision": "perhaps"}'}) as url:
        critic = Critic(name="m", called="m", endpoint=ChatEndpoint(base_url=url))
        with pytest.raises(InputError, match="no decision"):
            critic.decide(labelled[0].snapshot)


def test_a_damaged_file_of_answers_is_named_by_line(tmp_path: Path, labelled: tuple[Labelled, ...]) -> None:
    (tmp_path / KEPT).write_text('{"snapshot": 1}\n', encoding="utf-8")
    critic = Critic(name="m", called="m", endpoint=ChatEndpoint(base_url="http://127.0.0.1:9/v1"))
    with pytest.raises(InputError, match="not an answer of a critic") as bad:
        critic.judge([labelled[0].snapshot], tmp_path)
    assert str(bad.value.where).endswith(f"{KEPT}:1")
