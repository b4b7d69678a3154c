"""The derived stage against its naive twin, and what the stage promises."""

from __future__ import annotations

from collections import Counter

import pytest

from tallystick.gates.stage import Standing, stage_of
from tallystick.model.events import Reported, Said
from tests.gates.naive_stage import Where, naive_stage
from tests.gates.worlds import World, world
from tests.gates.worlds_kit import RUN

CHUNK = 5_000


def plain(standing: Standing) -> Where:
    return Where(
        str(standing.stage),
        frozenset(standing.done),
        frozenset(standing.open),
        frozenset(standing.in_doubt),
        frozenset((r.code, r.where) for r in standing.missing),
    )


def derived(case: World) -> Where:
    return plain(stage_of(case.view(), case.contract))


@pytest.mark.parametrize("chunk", range(2))
def test_the_stage_and_its_naive_twin_agree_on_random_worlds(chunk: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        case = world(seed)
        got = derived(case)
        assert got == naive_stage(case.contract, case.task, RUN, case.events), f"world {seed}"
        seen[got.stage] += 1
    assert set(seen) == {"completed", "needs_information", "post_observation_continue", "ready_for_action"}
    assert min(seen.values()) > CHUNK // 100


def test_words_never_move_the_stage() -> None:
    for seed in range(1_500):
        case = world(seed)
        silent = [e for e in case.events if not isinstance(e.event.body, (Said, Reported))]
        assert plain(stage_of(case.view(silent), case.contract)) == derived(case), f"world {seed}"


def test_nothing_is_completed_while_something_is_owed_in_doubt_or_under_way() -> None:
    completed = 0
    for seed in range(3_000):
        case = world(seed)
        view = case.view()
        standing = stage_of(view, case.contract)
        if standing.stage == "completed":
            completed += 1
            assert not standing.open
            assert not view.doubts
            assert not any(c.effect == "write" for c in view.open_calls.values())
            assert set(standing.done) == set(view.obligations)
    assert completed > 20
