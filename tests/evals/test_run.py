"""Running agents: scripted, a callable over a pipe; resuming, choosing, excluding; what is printed beside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tallystick.errors import InputError
from tallystick.evals.evidence.client import InfrastructureError, Session
from tallystick.evals.evidence.run import EPISODES, chosen, published, read_episodes, run
from tallystick.evals.evidence.scripted import Scripted


def test_a_scripted_agent_over_the_whole_suite() -> None:
    """Measures per protocol with both intervals, macro averages, effects, definitions; and it says scripted."""
    told = run(Scripted(fault="stops_early", p=0.4))
    assert told["scripted"] is True
    assert told["agent"] == "scripted:stops_early@0.4"
    assert (told["episodes"], told["scored"], told["excluded"]) == (656, 656, 0)
    v0 = told["protocols"]["V0"]
    assert v0["BSR"]["hits"] == 144 - v0["ECS"]["hits"]
    for name in ("wilson", "bootstrap"):
        assert v0["BSR"][name][0] < v0["BSR"]["share"] < v0["BSR"][name][1]
    shares = [p["ECS"]["share"] for p in told["protocols"].values()]
    assert told["macro"]["protocol"] == pytest.approx(sum(shares) / 5)
    assert len(told["domains"]) == 6
    assert set(told["definitions"]) >= {"ECS", "BSR", "PAR", "CAS", "Gap", "Part"}
    assert "overlap" in told["note"]
    curve = told["readiness"]["V1"]
    assert curve == sorted(curve)
    assert curve[0] == 0.0
    assert curve[-1] == pytest.approx(1 - told["protocols"]["V1"]["BSR"]["share"])


def test_measures_a_protocol_does_not_define_are_left_out() -> None:
    """Legacy has ECS only; V0 no CAS; only workflows have Gap and Part."""
    told = run(Scripted(), limit=40, resample=False)["protocols"]
    assert set(told["Legacy"]) == {"episodes", "ECS"}
    assert "CAS" not in told["V0"]
    assert "Gap" not in told["V1"]
    assert {"Gap", "Part", "CAS"} <= set(told["V2"])


def curious(session: Session) -> None:
    """Looks at two things and gives up; crashes on static cases; loses its model on workflows that close."""
    if session.task["candidate"]:
        raise RuntimeError("an agent's own fault")
    if "close" in session.task["text"]:
        raise InfrastructureError("model endpoint down")
    for tool in session.task["tools"][:2]:
        session.call(tool["name"], dict.fromkeys(tool["parameters"]["required"], "SR-0000"))
    session.submit("DEFER")


def test_a_callable_is_given_sessions_to_another_process(tmp_path: Path) -> None:
    """Its crashes are scored as failures, its infrastructure's are excluded and reported; episodes are kept."""
    told = run(curious, limit=30, out=tmp_path, resample=False)
    assert told["scripted"] is False
    assert told["agent"] == "curious"
    assert told["episodes"] == 30
    assert told["excluded"] > 0
    assert told["scored"] == 30 - told["excluded"]
    kept = read_episodes(tmp_path / EPISODES)
    assert len(kept) == 30
    assert {e.end for e in kept} == {"submitted", "stopped", "infrastructure"}
    assert told["protocols"]["Legacy"]["ECS"]["hits"] == 0


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Episodes on file are not played again; another agent's folder is refused."""
    first = run(Scripted(), protocol="V1", limit=5, out=tmp_path, resample=False)
    seen: list[int] = []
    more = run(Scripted(), protocol="V1", limit=12, out=tmp_path, resample=False, progress=lambda n, _: seen.append(n))
    assert (first["episodes"], more["episodes"]) == (5, 12)
    assert seen == list(range(6, 13))
    with pytest.raises(InputError, match="holds episodes of"):
        run(Scripted(fault="stops_early", p=1.0), limit=5, out=tmp_path, resample=False)


def test_repetitions_stay_in_their_scenario() -> None:
    """Three rollouts triple the episodes; the bootstrap still counts scenarios."""
    once = run(Scripted(fault="acts_early", p=0.5), protocol="V1", limit=60)
    thrice = run(Scripted(fault="acts_early", p=0.5), protocol="V1", limit=60, epochs=3)
    assert thrice["protocols"]["V1"]["episodes"] == 3 * once["protocols"]["V1"]["episodes"]
    wide = thrice["protocols"]["V1"]["PAR"]["bootstrap"]
    narrow = thrice["protocols"]["V1"]["PAR"]["wilson"]
    assert wide is not None
    assert narrow is not None


@pytest.mark.parametrize("limit", [5, 30, 60])
def test_a_small_choice_is_spread_over_protocols_and_domains(limit: int) -> None:
    """A limit takes as many of each protocol as of the next, and no case twice."""
    names = chosen(limit=limit)
    assert len(set(names)) == limit
    assert {n.split("-")[-2] for n in names} == {"legacy", "v0", "v1", "v2", "v3"}
    if limit >= 30:
        assert len({n.rsplit("-", 2)[0] for n in names}) == 6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"protocol": "V9"}, "there is no protocol `V9`"),
        ({"limit": 0}, "`0` cases"),
        ({"arm": "warmth"}, "there is no derived set `warmth`"),
        ({"epochs": 0}, "`0` epochs"),
        ({"out": "/dev/null/x"}, "cannot be made"),
    ],
)
def test_bad_choices_are_one_clear_error(options: dict[str, Any], words: str) -> None:
    """Bad input names itself and its fix; nothing is run."""
    with pytest.raises(InputError, match=words):
        run(Scripted(), **options)


def test_published_figures_have_their_place_and_are_never_ours() -> None:
    """Every group of the paper's figures says where it stands; what the source lacks is null."""
    found = published()
    assert found["source"].startswith("arXiv")

    def places(value: Any) -> bool:
        if not isinstance(value, dict):
            return True
        if "at" in value:
            return bool(value["at"])
        return all(places(v) for v in value.values()) and all(isinstance(v, dict) for v in value.values())

    assert all(places(v) for k, v in found.items() if k != "source")
    assert found["main"]["ECS"]["range"] == [0.377, 0.672]
    assert found["configurations"]["GLM-ZCode"]["V0"] is None
    told = run(Scripted(), limit=5, resample=False)
    assert told["published"] == found
