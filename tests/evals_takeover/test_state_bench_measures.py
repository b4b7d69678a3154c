"""Contracts beside what recordings really did: a result that misleads ends in doubt, not in a guess."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tallystick.evals.takeover.state_bench import StateBench
from tallystick.evals.takeover.state_bench_data import CONTRACTS
from tallystick.evals.takeover.state_bench_measures import bindings, effects, measured
from tests.evals_takeover import state_bench_checkout as made

CHECKOUT = "TALLYSTICK_STATE_BENCH"
"""Names a checkout of the benchmark, for the tests that play recordings in its simulator."""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> StateBench:
    return StateBench(folder=made.written(tmp_path_factory.mktemp("checkout")))


@pytest.fixture(scope="module")
def own(live: StateBench) -> dict[str, Any]:
    return measured(live)


def test_a_misleading_result_ends_in_doubt_and_the_contracts_own_query_settles_it(own: dict[str, Any]) -> None:
    """An error that changed the state, and a success that changed nothing: neither is believed."""
    found = [(row["recording"][7], row["call"], row["sort"]) for row in own["misleading"]]
    assert found == [
        ("3", "m2.c8", "error_changed_state"),
        ("4", "m2.c7", "error_changed_state"),
        ("4", "m2.c8", "success_changed_nothing"),
    ]
    for row in own["misleading"]:
        assert row["outcome"] == "unknown"
        assert row["ends"] == "doubt"
        assert row["contract"] == "residual.doubt"  # nobody takes over what is not settled
        assert row["settled"] == "done"


def test_a_careless_contract_turns_the_same_results_into_guesses(live: StateBench, tmp_path: Path) -> None:
    """The measure can fail: where a contract declares every error harmless, what it got wrong is told."""
    text = (CONTRACTS / "travel.yaml").read_text("utf-8")
    careless = text.replace(
        '    no_effect: result.status == "rejected"\n    echoes: {booking_id: /booking_id}\n    settle',
        "    no_effect: has(result.error)\n    echoes: {booking_id: /booking_id}\n    settle",
    ).replace(' && (result.status != "updated" || size(result.changes_applied) > 0)', "")
    assert careless != text
    (tmp_path / "travel.yaml").write_text(careless)
    surface = StateBench(folder=live.folder, contracts=tmp_path)
    rows = measured(surface)["misleading"]
    assert [(row["outcome"], row["ends"]) for row in rows] == [
        ("no_effect", "guess"), ("no_effect", "guess"), ("ok", "guess"),
    ]  # fmt: skip
    kept = effects(surface.cuts)
    assert kept["wrong"] == ["travel/4-success_that_did_nothing@9 m2.c8"]
    assert [one.split()[1] for one in kept["missed"]] == ["m2.c8", "m2.c7"]


def test_kept_effects_are_those_that_really_happened_and_stand(own: dict[str, Any]) -> None:
    kept = own["effects"]
    assert kept["precision"] == 1
    assert kept["missed"] == []
    assert kept["wrong"] == []
    # One flight was changed by a call that answered with an error, in the prefix of two frontiers.
    assert [one.split()[0] for one in kept["in_doubt"]] == [
        "travel/3-error_that_changed@9", "travel/4-success_that_did_nothing@9",
    ]  # fmt: skip
    assert kept["found"] == kept["real"] - 2


def test_no_choice_has_a_typed_event_and_guesses_are_kept_apart(live: StateBench, own: dict[str, Any]) -> None:
    found = own["bindings"]
    assert found["typed"] == 0
    assert found["guessed_from_words"]["found"] > 0
    one = live.cuts[0]
    assert bindings([one])["gold"] == 1
    assert not one.view.index.confirmed  # the run itself holds no guess


def test_obligations_from_gold_are_an_upper_bound_and_a_models_are_not_run(own: dict[str, Any]) -> None:
    found = own["obligations"]
    assert found["model_extractor"] == "not run"
    bound = found["upper_bound_from_gold"]
    assert bound["frozen"] + sum(bound["bottom"].values()) == bound["frontiers"]
    assert bound["bottom"] == {"residual.doubt": 2}


def test_counts_of_a_domain_add_up(own: dict[str, Any]) -> None:
    (travel,) = own["domains"].values()
    assert travel["recordings"] == 6
    assert travel["frontiers"] == own["frontiers"] == 9
    assert travel["end_right"] + travel["end_wrong"] == 9
    assert sum(travel["continuation"].values()) == 9
    assert own["replayed_alike"] == 6


# ---------------------------------------------------------------- the 200 recordings


@pytest.mark.shared
def test_the_200_recordings_by_their_labels(shared: Path) -> None:
    """Without a simulator: effects as the labels have them, and every misleading result."""
    surface = StateBench(folder=shared / "data" / "state-bench")
    found = measured(surface)
    assert found["world"] == "recorded answers"
    assert found["recordings"] == 200
    assert {d: n["frontiers"] for d, n in found["domains"].items()} == {
        "customer_support": 11, "shopping_assistant": 31, "travel": 36,
    }  # fmt: skip
    # Labels do not tell what was undone later in the prefix, so recall is a lower bound here.
    assert found["effects"]["precision"] == 1
    _check_misleading(found)


@pytest.mark.shared
def test_the_200_recordings_in_the_benchmarks_simulator(shared: Path) -> None:
    """With a checkout: frontiers that are partly met, by the benchmark's own truth."""
    checkout = os.environ.get(CHECKOUT)
    if not checkout:
        pytest.skip(f"{CHECKOUT} names no checkout of STATE-Bench")
    surface = StateBench(folder=shared / "data" / "state-bench", simulator=Path(checkout))
    found = measured(surface)
    assert found["replayed_alike"] == 200
    assert [w.right for w in surface.walks] == [surface.data.labels[w.episode.name].right for w in surface.walks]
    assert {d: n["frontiers"] for d, n in found["domains"].items()} == {
        "customer_support": 24, "shopping_assistant": 31, "travel": 52,
    }  # fmt: skip
    kept = found["effects"]
    assert (kept["found"], kept["right"], kept["real"]) == (151, 151, 161)
    assert len(kept["in_doubt"]) == 10
    # Three remainders take back an effect of the prefix: the customer thought better of it, or the agent had erred.
    assert found["obligations"]["upper_bound_from_gold"]["bottom"] == {"residual.blocked": 3, "residual.doubt": 1}
    _check_misleading(found)


def _check_misleading(found: dict[str, Any]) -> None:
    """Six errors that changed the state, five successes that did not, one preview that took effect."""
    sorts = [(row["sort"], row["ends"]) for row in found["misleading"]]
    assert sorts.count(("error_changed_state", "doubt")) == 6
    assert sorts.count(("success_changed_nothing", "doubt")) == 5
    # What a contract calls a preview is not doubted: the one place where the record guesses, and is wrong.
    assert [(r["sort"], r["ends"], r["recording"]) for r in found["misleading"] if r["ends"] == "guess"] == [
        ("preview_took_effect", "guess", "travel/56-challenge_retroactive_reason")
    ]
    assert len(sorts) == 12
