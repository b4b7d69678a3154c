"""STATE-Bench as a surface: cuts, worlds and gold, on a small checkout of our own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tallystick.errors import InputError
from tallystick.evals.takeover.state_bench import Frontier, StateBench
from tallystick.evals.takeover.state_bench_world import Simulator, UnrecordedError
from tallystick.evals.takeover.successors import filled
from tallystick.evals.takeover.surface import Opened
from tallystick.gates.residual import construct
from tallystick.model import jsontext
from tests.evals_takeover import state_bench_checkout as made


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.written(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def live(checkout: Path) -> StateBench:
    return StateBench(folder=checkout)


@pytest.fixture(scope="module")
def recorded(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> StateBench:
    return StateBench(folder=made.recordings(checkout, tmp_path_factory.mktemp("recordings")))


def named(surface: StateBench, name: str) -> Frontier:
    (found,) = [one for one in surface.cuts if one.id.startswith(f"travel/{name}")]
    return found


def finish(opened: Opened, frontier: Frontier) -> None:
    done: dict[str, object] = {}
    for call in frontier.gold.proposal["calls"]:
        done[call["id"]] = opened.meter.tools[call["tool"]](**filled(call["args"], done))


def test_a_cut_lies_before_the_next_write_where_the_prefix_is_partly_met(live: StateBench) -> None:
    """Six conversations give nine cuts; after the last write only where the end is wrong."""
    assert [one.id for one in live.cuts] == [
        "travel/1-two_cancelled@7",
        "travel/2-one_forgotten@7",
        "travel/3-error_that_changed@8",
        "travel/3-error_that_changed@9",
        "travel/4-success_that_did_nothing@9",
        "travel/5-wrong_flight@8",
        "travel/5-wrong_flight@9",
        "travel/6-answer_on_the_way@7",
        "travel/6-answer_on_the_way@8",
    ]
    one = named(live, "1")
    last = one.trace.messages[-1]
    assert [call.args["booking_id"] for call in last.calls if call.args] == ["BK-1"]
    assert last.text == ""  # words come after a message's calls: those of a cut one were never said
    assert (one.cut.met, one.cut.open) == (1, 1)


def test_the_continuation_comes_from_the_recording_else_from_a_search_else_from_nowhere(live: StateBench) -> None:
    recorded_rest, found = named(live, "1"), named(live, "2")
    assert recorded_rest.cut.rest
    assert not recorded_rest.cut.repair
    assert found.cut.repair == (("cancel_booking", {"booking_id": "BK-2", "confirm": True}),)
    assert found.kind == "travel, repaired"
    unknown = [one.id for one in live.cuts if not one.gold.proposal["calls"]]
    assert unknown == ["travel/5-wrong_flight@8", "travel/5-wrong_flight@9"]
    assert {one.id for one in live.frontiers(None, "s")} == {one.id for one in live.cuts} - set(unknown)
    assert len(live.frontiers(2, "s")) == 2


def test_gold_is_right_in_a_fresh_world_and_the_prefix_alone_is_not(live: StateBench) -> None:
    for one in live.frontiers(None, "s"):
        for _ in range(2):  # two openings share nothing
            with one.open() as opened:
                assert not opened.correct()
                finish(opened, one)
                assert opened.correct(), one.id
                assert len(opened.meter.dispatched) == len(one.gold.proposal["calls"])


def test_a_write_too_many_is_not_right(live: StateBench) -> None:
    one = named(live, "1")
    with one.open() as opened:
        finish(opened, one)
        opened.meter.tools["cancel_booking"](booking_id="BK-3", confirm=True)
        assert not opened.correct()


def test_a_replica_leaves_the_live_world_as_it_is(live: StateBench) -> None:
    one = named(live, "1")
    with one.open() as opened:
        assert opened.fork is not None
        with opened.fork() as tools:
            tools["cancel_booking"](booking_id="BK-2", confirm=True)
            assert tools["get_booking"](booking_id="BK-2")["status"] == "cancelled"
        assert opened.meter.tools["get_booking"](booking_id="BK-2")["status"] == "confirmed"


def test_the_run_goes_on_from_imported_receipts_and_is_told_nothing_of_gold(live: StateBench) -> None:
    one = named(live, "1")
    with one.open() as opened:
        view = opened.run.view
        assert {r.body.source for r in view.receipts} == {"imported"}
        assert opened.run.task.request == "Cancel BK-1 and BK-2."
        assert opened.store is not None
        text = "\n".join(str(sealed.event) for sealed in opened.store.events(opened.run.id))
        assert "Yes." in text
        for secret in ("the answer key", "state_requirements", "expected_value", "Both are off."):
            assert secret not in text


def test_the_contract_of_a_prefix_keeps_its_effect_and_owes_the_other(live: StateBench) -> None:
    one = named(live, "1")
    with one.open() as opened:
        for wanted in one.gold.owed:
            opened.run.oblige("gold", tool=wanted.tool, args=wanted.args)
        residual, decision = construct(opened.run.view, one.contract, tenure="t")
    assert residual is not None, decision.codes
    assert [(k.tool, k.entities) for k in residual.kept] == [("cancel_booking", [["booking", "BK-1"]])]
    assert [o.tools for o in residual.owed] == [["cancel_booking"]]
    assert one.gold.others == {"BK-2": "BK-1"}
    assert one.gold.repeats[0]["args"] == {"booking_id": "BK-1", "confirm": True}


def test_a_remainder_over_several_turns_says_so(live: StateBench) -> None:
    assert [one.kind for one in live.cuts if "6-" in one.id] == ["travel, several turns", "travel"]
    assert named(live, "1").kind == "travel"


def test_recordings_alone_answer_as_they_did_and_know_nothing_else(recorded: StateBench) -> None:
    assert recorded.world == "recorded answers"
    # What is still to be done is known only of recordings whose end is right.
    assert [one.id for one in recorded.cuts] == [
        "travel/1-two_cancelled@7", "travel/4-success_that_did_nothing@9", "travel/6-answer_on_the_way@7",
        "travel/6-answer_on_the_way@8",
    ]  # fmt: skip
    one = named(recorded, "1")
    with one.open() as opened:
        assert not opened.correct()
        finish(opened, one)
        assert opened.correct()
        assert opened.fork is not None
        with opened.fork() as tools, pytest.raises(UnrecordedError):
            tools["cancel_booking"](booking_id="BK-3", confirm=True)
        assert opened.correct()
        with pytest.raises(UnrecordedError):
            opened.meter.tools["get_booking"](booking_id="BK-9")
        assert opened.correct()  # a look that nobody recorded changes nothing
        with pytest.raises(UnrecordedError):
            opened.meter.tools["cancel_booking"](booking_id="BK-3", confirm=True)
        assert not opened.correct()


def test_recordings_can_be_played_by_a_checkout_named_apart(recorded: StateBench, checkout: Path) -> None:
    for episode in recorded.data.episodes:
        target = episode.database
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(jsontext.dumps(made.database()))
    both = StateBench(folder=recorded.folder, simulator=checkout)
    assert both.world == "simulator"
    assert [one.id for one in both.cuts] == [one.id for one in StateBench(folder=checkout).cuts]
    assert all(
        walk.right == both.data.labels[walk.episode.name].right for walk in both.walks if "5" not in walk.episode.id
    )


def test_two_checkouts_do_not_mix_and_leave_nothing_behind(tmp_path: Path) -> None:
    first, second = (Simulator(made.written(tmp_path / note, note=note)) for note in ("one", "two"))
    (episode, *_) = StateBench(folder=tmp_path / "one").data.episodes
    for simulator, note in ((first, "one"), (second, "two"), (first, "one")):
        world = simulator.open(episode, made.NOW)
        assert sys.modules.get("state_bench") is None
        handler = type(world._environment)
        assert handler.__init__.__globals__["NOTE"] == note
    assert not list(tmp_path.rglob("__pycache__"))  # the user's checkout stays as it was


def test_what_is_no_checkout_or_cannot_be_used_is_a_clear_error(tmp_path: Path, checkout: Path) -> None:
    with pytest.raises(InputError, match="neither a checkout"):
        _ = StateBench(folder=tmp_path).data
    with pytest.raises(InputError, match="no checkout"):
        _ = StateBench(folder=checkout, simulator=tmp_path).player
    (tmp_path / "state_bench" / "domains").mkdir(parents=True)
    with pytest.raises(InputError, match="cannot be imported"):
        _ = StateBench(folder=checkout, simulator=tmp_path).walks
    with pytest.raises(InputError, match="no contract for `travel`"):
        _ = StateBench(folder=checkout, contracts=tmp_path).cuts


def test_recordings_without_labels_and_without_a_simulator_are_refused(recorded: StateBench, tmp_path: Path) -> None:
    for kind in ("trajectories", "tasks"):
        (tmp_path / kind).symlink_to(recorded.folder / kind)
    with pytest.raises(InputError, match="nothing tells what the recorded calls did"):
        StateBench(folder=tmp_path).frontiers(None, "s")
