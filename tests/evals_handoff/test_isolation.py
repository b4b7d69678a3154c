"""The executor sees its artifact and the labels; nothing else of the task reaches it."""

from __future__ import annotations

import msgspec
import pytest

from tallystick.evals.handoff.audit import audit, seen
from tallystick.evals.handoff.episode import Episode
from tallystick.evals.handoff.panels import STUDIES
from tallystick.evals.handoff.run import Plan, episodes, reference_cast
from tallystick.evals.handoff.substrates import Plain, Substrate, substrate
from tallystick.evals.handoff.task import task


@pytest.fixture(scope="module")
def played() -> tuple[Episode, ...]:
    return episodes(Plan(studies=STUDIES, limit=16), reference_cast()).episodes


def test_no_view_of_any_panel_leaks(played: tuple[Episode, ...]) -> None:
    found = audit(played)
    assert found.records == len(played) > 400
    assert found.leaks == ()


@pytest.mark.parametrize("field", ["goal", "boundary", "need", "who", "use", "plan", "due", "prior", "said"])
def test_a_field_added_to_the_view_is_a_leak(played: tuple[Episode, ...], field: str) -> None:
    for one in played[::97]:
        told = msgspec.structs.replace(one, sight=f"{one.sight}\nHint: {getattr(task(one.task), field)}")
        assert field in seen(told)
        assert "order of words" in seen(told)


def test_a_missing_label_is_noticed(played: tuple[Episode, ...]) -> None:
    one = played[0]
    label = task(one.task).removed[0]
    assert "labels" in seen(msgspec.structs.replace(one, sight=one.sight.replace(label, "other")))


def test_an_artifact_that_is_not_what_was_seen_is_noticed(played: tuple[Episode, ...]) -> None:
    one = next(e for e in played if e.condition == "P0")
    assert "order of words" in seen(msgspec.structs.replace(one, received=one.received + " Go on."))


def test_plain_calls_each_hop_once_in_order_and_delivers_its_bytes() -> None:
    calls: list[str] = []

    def hop(name: str):  # type: ignore[no-untyped-def]
        def work(text: str) -> str:
            calls.append(name)
            return f"{text}→{name}"

        return work

    assert Plain().carry("ä", [hop("a"), hop("b")]) == "ä→a→b".encode()
    assert calls == ["a", "b"]
    assert Plain().carry("x", []) == b"x"
    assert isinstance(substrate("plain"), Substrate)
