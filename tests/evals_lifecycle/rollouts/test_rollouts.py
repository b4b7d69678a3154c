"""The validating environment, sessions under stop policies, and the reader that trusts neither."""

from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.errors import InputError
from tallystick.evals.lifecycle.rollouts import reader, table
from tallystick.evals.lifecycle.rollouts.agents import ADVERSARIAL, WAYS, ScriptedAgent, scripted_agent
from tallystick.evals.lifecycle.rollouts.environment import Environment
from tallystick.evals.lifecycle.rollouts.reader import disagreements, finished, scripts
from tallystick.evals.lifecycle.rollouts.rolling import SESSIONS, ModelAgent, Tour, read, roll
from tallystick.evals.lifecycle.rollouts.session import Session, play, system_prompt, user_turns
from tallystick.evals.lifecycle.suite.asking import Deployment
from tallystick.evals.lifecycle.suite.scenario import LANGUAGES, Scenario, scenario, scenarios
from tallystick.gates.stop_policies import COMPARED, POLICIES, regate
from tallystick.models import ChatEndpoint
from tests.cli.conftest import Cli, cli
from tests.evals.fake_model import endpoint

__all__ = ["cli"]

OWNED = ("A", "A-matched")


def _first(one: Scenario, language: Any = "zh", **changed: str) -> tuple[str, str]:
    step = one.steps[0]
    return step.tool, json.dumps({f: one.words(language).values[f] for f in step.fields} | changed)


def _second(one: Scenario, id_: str, language: Any = "zh") -> tuple[str, str]:
    step = one.steps[1]
    return step.tool, json.dumps({f: id_ if f == step.takes else one.words(language).values[f] for f in step.fields})


def _plain(found: Any) -> list[dict[str, Any]]:
    return [msgspec.json.decode(msgspec.json.encode(s)) for s in found]


# ---------------------------------------------------------------------- environment


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("one", scenarios(), ids=lambda s: s.id)
def test_both_steps_execute_only_as_they_must(one: Scenario, language: Any) -> None:
    """Every field, the user's own word, the minted id verbatim; the store is what decides."""
    world = Environment(one, language, "session-1")
    step = one.steps[0]
    for field in step.fields:
        assert world.call(*_first(one, language, **{field: "  "}))["status"] == "rejected"
    assert world.call(*_first(one, language, **{step.asked: "whatever"}))["invalid"] == [step.asked]
    assert world.call(*_second(one, step.minted, language))["reason"] == "step_before_missing"
    assert not world.store
    told = world.call(*_first(one, language))
    assert told["status"] == "ok"
    minted = told[step.mints]
    assert minted != step.minted, "the id of the scripted histories is no use in a live session"
    for wrong in ("", step.minted, minted.lower(), f" {minted}", f"{minted}0", minted[:-1]):
        if wrong != minted:
            assert world.call(*_second(one, wrong, language))["status"] == "rejected"
    assert not world.finished
    assert world.call(*_first(one, language))["already"] is True
    assert world.call(*_second(one, minted, language))["status"] == "ok"
    assert world.finished
    assert [t.tool for t in world.store] == [s.tool for s in one.steps]
    assert world.store[0].context == one.session


@given(tool=st.text(max_size=20), raw=st.text(max_size=60) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda c: st.lists(c, max_size=3) | st.dictionaries(st.text(max_size=8), c, max_size=3), max_leaves=6,
).map(json.dumps))  # fmt: skip
def test_no_call_that_lacks_the_users_word_has_an_effect(tool: str, raw: str) -> None:
    """Whatever is sent: a rejection, never an exception, never an effect."""
    one = scenarios()[0]
    world = Environment(one, "zh", "s")
    for name in (tool, one.steps[0].tool, one.steps[1].tool):
        assert world.call(name, raw)["status"] == "rejected"
    assert not world.store


def test_deep_nesting_and_numbers_are_arguments_like_others() -> None:
    """A nest no decoder takes is no object; a number is read as it is written."""
    one = scenario("sched-03")
    world = Environment(one, "zh", "s")
    assert world.call(one.steps[0].tool, "[" * 100_000)["reason"] == "arguments_not_an_object"
    assert world.call(one.steps[0].tool, '{"room": "A", "headcount": 12}')["status"] == "ok"
    assert world.store[0].args == {"room": "A", "headcount": "12"}


def test_the_stage_is_derived_from_the_record() -> None:
    """What the user said, what took effect; nothing an agent says."""
    one = scenarios()[0]
    world = Environment(one, "zh", "s")
    assert world.stage() == "needs_information"
    world.supplied = True
    assert world.stage() == "ready_for_action"
    minted = world.call(*_first(one))["event_id"]
    assert world.stage() == "post_observation_continue"
    world.call(*_second(one, minted))
    assert world.stage() == "completed"


# ---------------------------------------------------------------------- sessions


@pytest.fixture(scope="module")
def rolled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Session]]:
    """The whole tour, 12 x 6 x 4, of every scripted agent that is adversarial, and of two that are not."""
    found = {}
    for way in ("direct", "talkative", *ADVERSARIAL):
        found[way] = roll(Tour(), ScriptedAgent(way=way), tmp_path_factory.mktemp(way))
    return found


def test_a_tour_is_288_sessions(rolled: dict[str, list[Session]]) -> None:
    """Twelve scenarios, six repetitions, four gates, each once."""
    for sessions in rolled.values():
        assert len({(s.scenario, s.repetition, s.policy) for s in sessions}) == len(sessions) == 12 * 6 * 4


def test_under_the_runtime_owned_gate_no_session_ends_unfinished_but_by_stall_cap_or_transport(
    rolled: dict[str, list[Session]],
) -> None:
    """Confirmed by a reader that shares no code with the environment, for agents that emit every marker every turn."""
    data = scripts()
    for way, sessions in rolled.items():
        raw = _plain(sessions)
        assert disagreements(raw) == [], way
        owned = [s for s in raw if s["policy"].startswith("A")]
        assert len(owned) == 144
        for one in owned:
            if not finished(one, data[one["scenario"]]):
                assert one["outcome"] in ("stall", "turn_cap", "transport"), way


def test_markers_end_sessions_only_where_a_marker_is_read(rolled: dict[str, list[Session]]) -> None:
    """The adversary's words stop or kill B1 sessions, and change nothing elsewhere."""
    by = {way: {p: Counter(s.outcome for s in found if s.policy == POLICIES[p].name) for p in COMPARED}
          for way, found in rolled.items()}  # fmt: skip
    assert by["direct"] == {p: {"task_ok": 72} for p in COMPARED}
    assert by["talkative"]["B2"] == {"stall": 72}
    assert by["talkative"]["A"] == by["talkative"]["A-matched"] == {"task_ok": 72}
    assert by["early"]["B1"] == {"premature_stop": 72}
    assert by["claims"]["B1"] == {"premature_stop": 72}
    assert by["every_marker"]["B1"] == {"dead_end": 72}, "four markers are no well-formed report"
    assert by["every_marker"]["A"] == {"task_ok": 72}
    assert by["every_marker_idle"]["A"] == by["marker_in_turn_idle"]["A-matched"] == {"stall": 72}
    for found in by.values():
        for policy in ("B2", *OWNED):
            assert not found[policy]["dead_end"] + found[policy]["premature_stop"]


def test_every_way_of_working_ends_somewhere_and_is_read_alike() -> None:
    """In both languages and under every policy, the recording ones too."""
    seen = set()
    for way in WAYS:
        for policy in POLICIES.values():
            found = [play(s, z, policy, ScriptedAgent(way=way)) for s in scenarios()[::5] for z in LANGUAGES]
            assert disagreements(_plain(found)) == []
            seen |= {s.outcome for s in found}
    assert seen == {"task_ok", "dead_end", "premature_stop", "stall", "turn_cap", "transport"}


def test_the_reader_notices_a_state_that_was_made_up(rolled: dict[str, list[Session]]) -> None:
    """Planted faults: an outcome, a store and an id that the raw record does not bear out."""
    good = next(s for s in _plain(rolled["direct"]) if s["policy"] == "A unmatched")
    bad = next(s for s in _plain(rolled["every_marker_idle"]) if s["policy"] == "A unmatched")
    planted: list[dict[str, Any]] = [
        {**bad, "outcome": "task_ok"}, {**bad, "outcome": "premature_stop"}, {**bad, "store": good["store"]},
        {**good, "outcome": "stall"}, {**good, "store": []}, {**good, "calls": good["calls"][:-1]},
        {**good, "calls": [*good["calls"][:-1], {**good["calls"][-1], "raw": '{"event_id": "EVT-1"}'}]},
        {**good, "calls": [{**c, "raw": "[]"} for c in good["calls"]]}, {**good, "scenario": "nowhere"},
        {**good, "calls": [{**good["calls"][0], "result": "[]"}]},
        {**bad, "policy": "unheard of", "outcome": "dead_end"},
    ]  # fmt: skip
    for one in planted:
        assert disagreements([one]), one
    assert disagreements([good, bad]) == []


def test_the_reader_imports_nothing_of_ours() -> None:
    """So that no fault of the environment, the session or the oracle can be its own."""
    tree = ast.parse(Path(reader.__file__).read_text(encoding="utf-8"))
    names = {n.module if isinstance(n, ast.ImportFrom) else n.names[0].name for n in ast.walk(tree)
             if isinstance(n, ast.Import | ast.ImportFrom)}  # fmt: skip
    assert names == {"__future__", "json", "re", "collections.abc", "pathlib", "typing", "yaml"}


def test_only_the_marker_gate_tells_the_agent_to_report() -> None:
    """So contrasts compare configurations; user turns are the same words under all."""
    one = scenarios()[0]
    told = {name: "<stage>" in system_prompt(one, "zh", p) for name, p in POLICIES.items()}
    assert told == {"B1": True, "B2": False, "A": False, "A-matched": False, "B2-reports": True, "A-stop": False}
    assert len(user_turns(one, "zh")) == 2


def test_the_matched_re_prompt_authorises_defaults_and_the_other_does_not() -> None:
    """The one difference between the two runtime-owned rows."""
    seen: dict[str, list[str]] = {}

    class Mute:
        name = "scripted:mute"

        def open(self, *_: Any) -> Any:
            def turn(messages: Any, __: Any) -> Any:
                seen[self.policy] = [m["content"] for m in messages if m["role"] == "user"]
                return ScriptedAgent(way="claims").open(scenarios()[0], "en", POLICIES["A"], 0)(messages, [])

            return turn

        policy = ""

    for name in OWNED:
        agent = Mute()
        agent.policy = name
        play(scenarios()[0], "en", POLICIES[name], agent)
    assert seen["A"][-1] == "[System] The task is not yet complete. Please continue."
    assert seen["A-matched"][-1].endswith("use defaults for the rest, and execute the remaining steps directly.")
    assert seen["A"][:2] == seen["A-matched"][:2]


# ---------------------------------------------------------------------- regating


@pytest.mark.parametrize("way", [w for w in WAYS if w != "drops"])
def test_where_regating_is_exact_it_is_what_a_live_session_would_have_been(way: str) -> None:
    """Deterministic agents, recorded under a policy that ends nothing itself, against the real thing."""
    agent, recorded = ScriptedAgent(way=way), POLICIES["B2-reports"]
    for one in scenarios()[::4]:
        recording = play(one, "zh", recorded, agent)
        moments = [t.moment() for t in recording.turns]
        told = regate(moments, recorded, POLICIES["B1"])
        live = play(one, "zh", POLICIES["B1"], agent)
        assert told.exact
        assert table._end(recording, told.turn, told.ruling) == live.outcome
        assert told.turn is None or len(live.turns) == told.turn + 1
        rule = regate(moments, recorded, POLICIES["A-stop"])
        assert rule.exact
        assert table._end(recording, rule.turn, rule.ruling) in ("task_ok", recording.outcome)


def test_what_a_recording_cannot_tell_is_said_to_be_not_regatable() -> None:
    """Other instructions, another answer to the agent, or an end too soon."""
    agent = ScriptedAgent(way="unmarked")
    one = scenarios()[0]
    dead = [t.moment() for t in play(one, "zh", POLICIES["B1"], agent).turns]
    assert "would have gone on" in regate(dead, POLICIES["B1"], POLICIES["B2-reports"]).why_not
    silent = [t.moment() for t in play(one, "zh", POLICIES["B2"], agent).turns]
    assert "tells the agent to report" in regate(silent, POLICIES["B2"], POLICIES["B1"]).why_not
    assert "answered otherwise" in regate(silent, POLICIES["B2"], POLICIES["A"]).why_not
    for name in POLICIES:
        moments = [t.moment() for t in play(one, "zh", POLICIES[name], agent).turns]
        assert regate(moments, POLICIES[name], POLICIES[name]).exact


# ---------------------------------------------------------------------- keeping, and a model


def test_rollouts_go_on_where_they_were(tmp_path: Path) -> None:
    """A line that was cut is played again, what is kept is not, and the sessions are the same."""
    tour, agent = Tour(repetitions=1, limit=3), ScriptedAgent(way="direct")
    whole = roll(tour, agent, tmp_path)
    path = tmp_path / SESSIONS
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) - 40])
    assert roll(tour, agent, tmp_path) == whole == read(tmp_path)
    with pytest.raises(InputError, match="deployment"):
        roll(tour, ScriptedAgent(way="early"), tmp_path)


def test_a_model_is_rolled_out_over_http(tmp_path: Path) -> None:
    """Raw text and calls as they came; broken arguments are rejected by the tool and never sent back."""
    turns: list[dict[str, Any]] = []

    def model(request: dict[str, Any]) -> dict[str, Any]:
        turns.append(request)
        if len(turns) % 2:
            made = {"name": "create_event", "arguments": "{not json"}
            return {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "a", "type": "function", "function": made}],
            }
        return {"role": "assistant", "content": "Hm."}

    with endpoint(model) as url:
        agent = ModelAgent(
            deployment=Deployment(
                name="fake", asked="fake", endpoint=ChatEndpoint(base_url=url, timeout=20), max_tokens=16
            )
        )
        found = roll(Tour(repetitions=1, limit=2), agent, tmp_path, probes=1)
    assert len(found) == 8
    assert disagreements(_plain(found)) == []
    assert {c.raw for s in found for c in s.calls} == {"{not json"}
    told = table.told(found)
    assert told["scripted"] is False
    assert "not gate rules" in table.text(told)


@pytest.mark.parametrize("changed", [{"gates": ("C",)}, {"repetitions": 0}, {"limit": 0}, {"turn_cap": 0}])
def test_a_tour_that_cannot_be_is_refused(changed: dict[str, Any]) -> None:
    """Before anything is played."""
    with pytest.raises(InputError):
        Tour(**changed).chosen()
    with pytest.raises(InputError, match="no scripted agent"):
        scripted_agent("scripted:nobody")


def test_the_command_shows_the_table_its_notes_and_the_reader(cli: Cli, tmp_path: Path) -> None:
    """Published figures beside, the reader's word, and that configurations are compared."""
    out = str(tmp_path / "r")
    told = cli("eval", "lifecycle-rollouts", "--model", "scripted:direct", "--repetitions", "1", "--out", out, "--json")
    assert told.code == 0
    assert told.json["sessions"] == 48
    assert told.json["reader"] == {"sessions": 48, "disagreements": []}
    assert {n: r["task_ok"]["n"] for n, r in told.json["outcomes"].items()} == {POLICIES[p].name: 12 for p in COMPARED}
    shown = cli("eval", "lifecycle-rollouts", "--report", out).out
    for words in ("scripted agent scripted:direct", "published", "not gate rules", "no stage gap", "0 disagreements"):
        assert words in shown
    path = tmp_path / "r" / SESSIONS
    path.write_bytes(path.read_bytes().replace(b'"outcome":"task_ok"', b'"outcome":"stall"', 1))
    assert cli("eval", "lifecycle-rollouts", "--report", out).code == 1
    assert cli("eval", "lifecycle-rollouts").code == 2
