"""The closed-loop study: its numbers come from running it, its gates can fail, and scripted is called scripted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tallystick.errors import InputError
from tallystick.evals.termination.closed import save, study, text
from tallystick.evals.termination.closed.behaviour import Scripted
from tallystick.evals.termination.closed.clusters import GAPS, SECONDARY, clusters
from tallystick.evals.termination.closed.kept import TRAJECTORIES, read_trajectories
from tallystick.evals.termination.closed.manifest import manifest_ok, written
from tallystick.evals.termination.closed.measures import MARGIN, difference, gates, row
from tallystick.evals.termination.closed.play import Agent, Trajectory, play
from tallystick.evals.termination.closed.policies import CONTROLLER, CORE, ORDER, Ect, Policy, Verdict
from tallystick.evals.termination.closed.run import published
from tallystick.evals.termination.closed.scene import CHECKPOINTS, Done, Leaves, Scene
from tallystick.evals.termination.tasks import tasks


def played(policy: Policy, agent: Agent | None = None, *, repetitions: int = 1) -> list[Trajectory]:
    """The primary trajectories of one policy."""
    acting = agent or Scripted()
    return [
        play(cluster, checkpoint, repetition, policy, acting)
        for repetition in range(repetitions)
        for cluster in clusters()
        if cluster.primary
        for checkpoint in CHECKPOINTS
    ]


@pytest.fixture(scope="session")
def controller() -> list[Trajectory]:
    return played(CONTROLLER)


# ------------------------------------------------------------------ composition


def test_there_are_576_trajectories_over_24_clusters_of_which_22_are_primary(told: dict[str, Any]) -> None:
    assert (told["trajectories"], told["clusters"], told["primary"], told["repetitions"]) == (576, 24, 22, 3)
    for name in ORDER:
        mine = told["policies"][name]
        assert [mine[f"{m}_of"] for m in ("U", "S", "FC", "R")] == [66, 132, 66, 66]
        assert told["secondary"][name]["trajectories"] == 12
    assert {c.name for c in clusters() if not c.primary} == SECONDARY


def test_every_gap_occurs_in_four_clusters_of_four_families_and_no_task_is_one_of_the_static_study() -> None:
    for gap in GAPS:
        those = [c for c in clusters() if c.gap == gap]
        assert len(those) == len({c.family.NAME for c in those}) == 4
    assert not {c.scenario.request for c in clusters()} & {t.scenario.request for t in tasks()}


def test_the_clusters_are_those_of_the_manifest_and_a_changed_one_is_noticed() -> None:
    assert manifest_ok()
    assert written("another seed")["clusters"] != written()["clusters"]


def test_a_complete_checkpoint_is_supported_and_an_incomplete_one_is_not() -> None:
    """By the judge that reads the world and the log, and knows nothing of contracts."""
    for cluster in clusters():
        for checkpoint in CHECKPOINTS:
            seen: list[tuple[bool, bool]] = []

            class Looks:
                name, scripted = "looks", False

                def start(self, scene: Scene, seen: list[tuple[bool, bool]] = seen) -> Looks:
                    seen.append((scene.desk.supported(scene.answer), scene.desk.evidence()))
                    return self

                def move(self, told: str, deficits: int) -> Leaves:
                    return Leaves()

            play(cluster, checkpoint, 0, CORE, Looks())
            answers = cluster.gap in ("omitted", "wrong_value") and checkpoint == "incomplete"
            assert seen == [(checkpoint == "complete", checkpoint == "complete" or answers)], cluster.name


# ------------------------------------------------------------------ what the loop does


def test_nothing_the_verifier_lets_end_as_done_is_unsupported(told: dict[str, Any]) -> None:
    mine = told["policies"]["ect"]
    assert (mine["U"], mine["FC"]) == (0, 0)
    assert mine["S"] == mine["ends"]["complete"]
    assert told["policies"]["critic_core"]["U"] > 0


def test_the_three_gates_are_passed_and_recoveries_are_completed_with_support(told: dict[str, Any]) -> None:
    assert told["gates"] == {"U_difference": True, "S_non_inferiority": True, "recovery": True}
    assert told["differences"]["U"]["high"] < 0
    assert told["differences"]["S"]["low"] > MARGIN
    mine = told["policies"]["ect"]
    assert 0 < mine["recovered_then_completed"] <= mine["R"]


def test_a_policy_that_always_continues_fails_non_inferiority(told: dict[str, Any]) -> None:
    control = told["controls"]["always_continue"]
    assert (control["row"]["U"], control["row"]["S"]) == (0, 0)
    assert control["gates"]["U_difference"] is True  # never unsafe: that gate alone would let it through
    assert control["gates"]["S_non_inferiority"] is False
    assert control["fails"] is True


def test_an_agent_that_never_recovers_fails_the_recovery_gate(told: dict[str, Any]) -> None:
    control = told["controls"]["never_recovering"]
    assert control["row"]["R"] == 0
    assert control["gates"]["recovery"] is False
    assert control["fails"] is True


class Believing:
    """A mutant of ECT: it asks the runtime and takes its every answer for COMPLETE."""

    name = "ect"

    def start(self, scene: Scene) -> Believing:
        return self

    def judge(self, done: Done | None) -> Verdict:
        return Verdict(decision="complete" if done is not None else "continue")


class Deaf:
    """A mutant of ECT: the agent is told CONTINUE, and never a deficit."""

    name = "ect"

    def start(self, scene: Scene) -> Deaf:
        self._inner = Ect().start(scene)
        return self

    def judge(self, done: Done | None) -> Verdict:
        return Verdict(decision=self._inner.judge(done).decision)


def test_a_verifier_that_believes_fails_the_unsafety_gate(controller: Sequence[Trajectory]) -> None:
    found = gates(played(Believing()), controller)
    assert found["gates"]["U_difference"] is False


def test_without_deficits_fewer_recover(told: dict[str, Any]) -> None:
    assert row(played(Deaf(), repetitions=3))["R"] < told["policies"]["ect"]["R"]


def test_policies_meet_the_same_agent() -> None:
    """Draws are named by the trajectory and never by the policy."""

    class Renamed:
        name = "another name"

        def start(self, scene: Scene) -> Any:
            return Ect().start(scene)

    first, second = played(Ect()), played(Renamed())
    assert [(t.end, t.turns, t.calls, t.deficits) for t in first] == [
        (t.end, t.turns, t.calls, t.deficits) for t in second
    ]


def test_every_decision_of_every_run_comes_out_again(told: dict[str, Any]) -> None:
    assert told["reproduced"] == told["trajectories"]


def test_a_difference_is_that_of_the_shares_and_clusters_are_its_unit(controller: list[Trajectory]) -> None:
    core = played(CORE)
    found = difference(core, controller, "S")
    assert found["points"] == round(100 * (row(core)["S"] - row(controller)["S"]) / 44, 2)
    assert found["clusters"] == 22
    assert found["low"] <= found["points"] <= found["high"]
    assert difference(core, core, "U") == {"points": 0.0, "low": 0.0, "high": 0.0, "clusters": 22}
    assert difference([], [], "U")["points"] is None


# ------------------------------------------------------------------ what is said about it


def test_scripted_behaviour_is_labelled_wherever_its_numbers_stand(told: dict[str, Any], tmp_path: Path) -> None:
    assert (told["agent"], told["scripted"], told["critic"], told["scripted_critic"]) == (
        "scripted", True, "scripted", True,
    )  # fmt: skip
    assert len(told["behaviour"]) == 24
    shown = text(told)
    assert "scripted agents of stated behaviour" in shown.splitlines()[0]
    assert "full-trace critic (scripted)" in shown
    assert "no model was asked" in shown
    pytest.importorskip("matplotlib")
    names = save(told, tmp_path)
    assert sorted(names) == ["outcomes.png", "outcomes.svg", "turns.png", "turns.svg"]
    for name in ("outcomes.svg", "turns.svg"):
        drawn = (tmp_path / name).read_text("utf-8")
        assert "scripted agents of stated behaviour" in drawn
        assert "not ours" in drawn


def test_published_figures_are_those_of_the_source_and_stand_apart(told: dict[str, Any], shared: Path) -> None:
    seed = (shared / "seeds" / "evidence-carrying-termination.txt").read_text("utf-8")
    for label, name in zip(("Current critic", "Controller", "Full-trace", "ECT"), ORDER, strict=True):
        line = next(x for x in seed.splitlines() if re.match(rf"{label}\t\d+\t\d+\t\d+\t\d+\t", x))
        theirs = published()["policies"][name]
        assert line.split("\t")[1:] == [
            *(str(theirs[m]) for m in ("U", "S", "FC", "R")), f"{theirs['turns']:.2f}", f"{theirs['calls']:.2f}",
        ]  # fmt: skip
    apart = published()["differences"]
    for found in apart.values():
        for figure in found.values():
            if isinstance(figure, float):
                assert f"{figure:.2f}" in seed
    assert told["published"] == published()
    assert text(told).count("(published)") >= 4


class Stubborn:
    """An agent of no stated behaviour: says at once that it is done."""

    name, scripted = "stubborn", False

    def start(self, scene: Scene) -> Stubborn:
        self._answer = scene.answer
        return self

    def move(self, told: str, deficits: int) -> Done:
        return Done(text="Done.", answer=self._answer)


def test_without_a_model_there_is_no_full_trace_critic_beside_an_agent_that_is_not_scripted() -> None:
    found = study(Stubborn(), limit=2, repetitions=1)
    assert found["policies"]["full_trace_critic"] is None
    assert (found["critic"], found["scripted_critic"], found["controls"], found["behaviour"]) == (
        None,
        False,
        None,
        None,
    )
    assert "not run" in text(found)
    assert found["policies"]["ect"]["ends"] == {"complete": 2, "stuck": 2, "left": 0, "budget": 0}


# ------------------------------------------------------------------ going on


class Stop(Exception):  # noqa: N818 - no error
    pass


def test_an_interrupted_study_goes_on_where_it_stopped_and_ends_the_same(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done == 7:
            raise Stop

    whole = study(limit=3, repetitions=1)
    with pytest.raises(Stop):
        study(limit=3, repetitions=1, out=tmp_path, progress=stop)
    path = tmp_path / TRAJECTORIES
    assert len(read_trajectories(path)) == 7
    path.write_bytes(path.read_bytes()[:-9])  # cut off in the middle of a line
    asked: list[int] = []
    again = study(limit=3, repetitions=1, out=tmp_path, progress=lambda done, total: asked.append(done))
    assert again == whole
    assert asked == list(range(1, 25))
    assert len(read_trajectories(path)) == 24
    with pytest.raises(InputError, match="other settings: turns"):
        study(limit=3, repetitions=1, out=tmp_path, turns=2)
    path.write_bytes(b"[]\n")
    with pytest.raises(InputError, match="not a trajectory"):
        study(limit=3, repetitions=1, out=tmp_path)


@pytest.mark.parametrize("bad", [{"limit": 0}, {"repetitions": 0}, {"policies": ["nobody"]}, {"policies": []}])
def test_a_study_of_nothing_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        study(**bad)
