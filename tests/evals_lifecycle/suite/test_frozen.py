"""The suite is what it says: counts from distinct items, gold from the oracle, arms that differ only where declared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tallystick.errors import InputError
from tallystick.evals.lifecycle.row import CHECKPOINTS, NEGATIVES
from tallystick.evals.lifecycle.suite import manifest, protocol, scenario, studies
from tallystick.evals.lifecycle.suite.item import PARTS, Item, item, key_of
from tallystick.evals.lifecycle.suite.scenario import DOMAINS, LANGUAGES, parse, scenarios, text_of
from tallystick.evals.lifecycle.suite.studies import STUDIES, items
from tallystick.evals.lifecycle.suite.trace import Returned, Said, state_of, trace
from tallystick.progress import parse_report
from tests.cli.conftest import Cli, cli

__all__ = ["cli"]

COUNTS = {
    "main": 360, "five_arms": 600, "breadth": 84, "negative": 36, "obligations": 360, "demand": 120, "thinking": 192,
    "bundle": 24, "crossed": 288,
}  # fmt: skip
# What each checkpoint is, said by hand and not by the oracle: a report is due, the stage, what the turn must be.
DECLARED = {
    "wait": (True, "needs_information", "speak"),
    "ready": (True, "ready_for_action", "speak"),
    "act": (False, "ready_for_action", "act"),
    "step": (True, "post_observation_continue", "speak"),
    "done": (True, "completed", "speak"),
    "pre_tool": (False, "needs_information", "speak"),
    "mid_chain": (False, "post_observation_continue", "act"),
    "post_done": (False, "completed", "speak"),
}


@pytest.fixture
def fresh() -> Iterator[None]:
    """Nothing rendered before or in a test is seen after it."""
    yield
    for cached in (scenario._read, studies._items, protocol.wording):
        cached.cache_clear()


def test_the_listing_has_the_counts_of_the_table(cli: Cli) -> None:
    """Exactly the promised fields, from distinct rendered stimuli, and the manifests hold."""
    assert cli("eval", "lifecycle", "--list", "--json").json == {"studies": COUNTS, "manifest_ok": True}
    english = cli("eval", "lifecycle", "--list", "--language", "en", "--json").json
    assert english == {"studies": {f"{name}-en": n for name, n in COUNTS.items()}, "manifest_ok": True}
    assert "manifests kept" in cli("eval", "lifecycle", "--list").out


def test_every_study_is_cut_as_the_paper_cuts_it() -> None:
    """Scenarios, checkpoints, encodings and arms of each study."""
    assert [len(scenarios(d)) for d in DOMAINS] == [6, 6, 6]
    cut = {s: [len({getattr(i, k) for i in items(s)}) for k in ("scenario", "checkpoint", "encoding")] for s in STUDIES}
    assert cut == {
        "main": [12, 5, 2], "five_arms": [12, 5, 2], "breadth": [18, 5, 1], "negative": [12, 3, 1],
        "obligations": [12, 5, 1], "demand": [12, 5, 1], "thinking": [12, 8, 1], "bundle": [12, 1, 1],
        "crossed": [12, 1, 1],
    }  # fmt: skip
    arms = {s: len(studies.arms(s)) for s in STUDIES}
    assert arms == {
        "main": 3, "five_arms": 5, "breadth": 2, "negative": 1, "obligations": 6, "demand": 2, "thinking": 2,
        "bundle": 2, "crossed": 24,
    }  # fmt: skip


def test_english_runs_are_studies_of_their_own() -> None:
    """No item id and no study name is shared between languages; breadth's English part is English in both."""
    for study in STUDIES:
        chinese, english = items(study, "zh"), items(study, "en")
        assert {i.study for i in chinese}.isdisjoint(i.study for i in english)
        assert {i.id for i in chinese}.isdisjoint(i.id for i in english)
        if study != "breadth":
            assert {i.digest for i in chinese}.isdisjoint(i.digest for i in english)


def test_gold_is_the_oracles_and_agrees_with_an_independent_declaration() -> None:
    """Every item of every study, in both languages."""
    for study in STUDIES:
        for language in LANGUAGES:
            for one in items(study, language):
                due, stage, mode = DECLARED[one.checkpoint]
                duty = one.arm.duty
                due = due and duty != "none" and (duty != "O1" or one.checkpoint == "done")
                assert (one.key.due, one.key.stage.value, one.key.mode) == (due, stage, mode), one.id
                assert (one.key.expected is not None) == due
                if due and duty == "stage":
                    assert one.key.expected == stage
                if due and duty in ("active", "inert"):
                    assert one.key.expected == {"active": "active", "inert": "qzx"}[duty]
                if due and duty == "O2":
                    assert one.key.expected == protocol.sentence(language, finished=stage == "completed")


def test_all_four_stages_are_due_and_only_they() -> None:
    """Of the five checkpoints four are due, covering every stage; the negatives never are."""
    for one in scenarios():
        due = [key_of(one, c) for c in CHECKPOINTS]
        assert [k.due for k in due] == [True, True, False, True, True]
        assert len({k.stage for k in due if k.due}) == 4
        assert not any(key_of(one, c).due for c in NEGATIVES)


@given(st.sampled_from(scenarios()), st.data())
def test_more_events_never_take_effects_or_information_back(one: Any, data: Any) -> None:
    """Along a trace effects only grow, what is missing and what remains only shrink."""
    events = trace(one, "post_done")
    cut = data.draw(st.integers(0, len(events) - 1))
    before, after = state_of(one, events[:cut]), state_of(one, events[: cut + 1])
    assert after.effects >= before.effects
    assert after.remaining <= before.remaining
    assert set(after.missing) <= set(before.missing)
    assert after.tool_event >= before.tool_event


def test_scripted_assistant_turns_carry_no_report() -> None:
    """Histories are the same whatever is asked for; only a turn that reported completion shows it."""
    for study in STUDIES:
        for one in items(study):
            said = [m["content"] or "" for m in one.messages if m["role"] == "assistant"]
            marked = [parse_report(t, one.encoding).present for t in said]
            assert not any(marked[:-1])
            assert not marked or marked[-1] == (one.checkpoint == "post_done"), one.id


def _base(found: tuple[Item, ...], one: Item) -> Item:
    """The item of the same checkpoint in the study's first arm."""
    return next(
        i for i in found
        if (i.scenario, i.checkpoint, i.encoding) == (one.scenario, one.checkpoint, one.encoding)
    )  # fmt: skip


@pytest.mark.parametrize("study", [s for s in STUDIES if s != "breadth"])
def test_arms_differ_only_in_declared_fields_and_in_each_of_them_somewhere(study: str) -> None:
    """By parts; what no part holds is the same in every arm."""
    found = items(study)
    seen: dict[str, set[str]] = {}
    for one in found:
        base = _base(found, one)
        assert one.parts["base"] == base.parts["base"]
        differs = {p for p in PARTS if one.parts[p] != base.parts[p]}
        assert differs <= {*one.arm.declares}, one.id
        seen.setdefault(one.arm.name, set()).update(differs)
    if study not in ("crossed", "obligations"):  # their cells are combinations, and none of them is a base
        first = found[0].arm
        declared = {i.arm.name: set(i.arm.declares) for i in found}
        assert {n: seen[n] for n in declared if n != first.name} == {
            n: p for n, p in declared.items() if n != first.name
        }


def test_the_messages_themselves_differ_only_where_the_arm_says() -> None:
    """A second look that knows nothing of parts: take away what an arm declares, and the stimuli are the same bytes."""
    for study in ("main", "five_arms", "obligations", "demand", "thinking", "bundle", "crossed"):
        found = items(study)
        for one in found:
            base = _base(found, one)
            assert _bare(one) == _bare(base), one.id


def _bare(one: Item) -> str:
    messages = json.loads(json.dumps(list(one.messages)))
    messages[0]["content"] = messages[0]["content"].split("\n")[0]  # the protocol paragraph
    while messages[-1]["role"] == "system" and len(messages) > 1:  # hint and reminder
        messages.pop()
    for message in messages:
        if message["role"] == "tool":
            told = json.loads(message["content"])
            known = ("status", "missing", "note", *(s.mints for s in scenario.scenario(one.scenario).steps))
            message["content"] = {k: v for k, v in told.items() if k in known}
        if message["role"] == "assistant" and one.checkpoint == "post_done":
            message["content"] = (message["content"] or "").split("\n")[0]
    tools = [t for t in one.tools if t["name"] == one.tools[0]["name"]]
    return json.dumps([messages, tools], ensure_ascii=False)


def test_the_bundle_and_the_crossed_cells_leave_the_truth_alone() -> None:
    """Gold is POST_OBS in every cell, whatever a result says about owners and faults, tools declared or not."""
    for study in ("bundle", "crossed"):
        assert {(i.key.due, i.key.stage.value) for i in items(study)} == {(True, "post_observation_continue")}
    cells = {tuple(sorted(i.arm.factors.items())) for i in items("crossed")}
    assert len(cells) == 24
    assert {len(i.tools) for i in items("crossed") if i.arm.factors["tool"] == "withdrawn"} == {1}


def test_the_hint_says_the_true_stage_and_action_where_a_call_is_required() -> None:
    """The gold-injected arm's five values."""
    said = {
        i.checkpoint: i.messages[-1]["content"] for i in items("main", "en") if i.arm.name == "gold"
    }  # fmt: skip
    assert said == {
        c: f"[State hint] Current task stage: {v}."
        for c, v in {
            "wait": "needs_information", "ready": "ready_for_action", "act": "action",
            "step": "post_observation_continue", "done": "completed",
        }.items()
    }  # fmt: skip


def test_listing_1_of_the_source_is_rendered_verbatim() -> None:
    """The English system prompt, scheduling, XML, baseline."""
    told = items("main", "en")[0].messages[0]["content"]
    assert told.startswith(
        "You are a scheduling assistant. You can call the tools create_event and send_invites to fulfil the user's "
        "request. Ask the user for clarification when required information is missing; confirm with the user before "
        "performing any consequential operation.\nOutput protocol: whenever you produce a natural-language reply based "
        "on a tool result, you must append the current task-stage marker at the very end of the reply, one of: "
        "<stage>needs_information</stage>, <stage>ready_for_action</stage>, "
        "<stage>post_observation_continue</stage>, <stage>completed</stage>."
    )
    assert told.endswith("the marker must be unique and placed at the very end.")


# ---------------------------------------------------------------------- frozen


def _strings(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _strings(one, (*path, key))
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _strings(one, (*path, number))
    elif isinstance(value, str):
        yield path


_SHOWN = ("role", "request", "ask", "answer", "confirm", "go", "report", "go_on")
"""Words that are in some frozen stimulus of every two-step scenario."""


@pytest.mark.parametrize("field", _SHOWN)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.usefixtures("fresh")
def test_one_changed_character_of_a_scenario_breaks_the_manifest(
    monkeypatch: pytest.MonkeyPatch, language: Any, field: str
) -> None:
    """A stimulus that is not the frozen one is noticed by its study's manifest."""
    data = yaml.safe_load(text_of("support"))
    text = data[3][language][field]
    data[3][language][field] = text[:-1] + ("x" if text[-1] != "x" else "y")
    changed = yaml.safe_dump(data, allow_unicode=True)
    before = scenario.text_of
    monkeypatch.setattr(scenario, "text_of", lambda d: changed if d == "support" else before(d))
    scenario._read.cache_clear()
    studies._items.cache_clear()
    assert not manifest.kept("main", language)
    if field == "ask":
        assert manifest.kept("main", "en" if language == "zh" else "zh")
        assert manifest.listing()["manifest_ok"] is False


@pytest.mark.usefixtures("fresh")
def test_one_changed_character_anywhere_in_the_data_breaks_the_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where no stimulus shows it: proxy tokens, accepted patterns, comments."""
    assert manifest.data_kept()
    for domain in DOMAINS:
        text = text_of(domain)
        for at in (0, len(text) // 3, len(text) // 2, len(text) - 2):
            other = text[:at] + ("~" if text[at] != "~" else "-") + text[at + 1 :]
            with monkeypatch.context() as patch:
                before = scenario.text_of
                patch.setattr(scenario, "text_of", lambda d, o=other, w=domain, b=before: o if d == w else b(d))
                assert not manifest.data_kept()


def test_a_changed_answer_key_breaks_the_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is frozen beside the stimulus and not in it."""
    one = items("main")[0]
    told = manifest.digests([one])
    wrong = Item(**{**{f: getattr(one, f) for f in one.__slots__}, "key": key_of(scenarios()[0], "done")})
    assert manifest.digests([wrong])[one.id][0] == told[one.id][0]
    assert manifest.digests([wrong])[one.id][1] != told[one.id][1]


def test_nothing_of_the_key_is_in_a_stimulus() -> None:
    """What is sent holds messages, tools and the thinking lane; in baseline arms the stage's name only as a choice."""
    for one in items("negative"):
        assert set(one.stimulus) == {"messages", "tools"}
    assert {i.stimulus["thinking"] for i in items("thinking")} == {"on", "off"}


@pytest.mark.parametrize(
    ("path", "value"),
    [((0, "zh", "accepts"), "^never$"), ((0, "steps", 0, "asked"), ""), ((0, "en", "notes"), ["one"]),
     ((0, "zh", "values"), {}), ((0, "zh", "extra"), "x"), ((0, "domain"), "kitchen")],
)  # fmt: skip
def test_a_scenario_whose_parts_do_not_fit_is_refused(path: tuple[Any, ...], value: Any) -> None:
    """With the scenario or the field named."""
    data = yaml.safe_load(text_of("scheduling"))
    place = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(InputError):
        parse(yaml.safe_dump(data, allow_unicode=True))


def test_every_scripted_answer_is_one_the_environment_would_accept() -> None:
    """In both languages, the value in the scripted call and the user's own words."""
    for one in scenarios(*DOMAINS):
        for language in LANGUAGES:
            words = one.words(language)
            asked = next(s.asked for s in one.steps if s.asked)
            assert words.accepted(words.values[asked])
            assert words.accepted(words.answer)
            assert not words.accepted(words.request), (one.id, language)
            assert not words.accepted("")


_MADE_UP = (
    "2023-04-15", "2022-01-01T00:00:00Z", "2023-10-01", "2023-03-30T09:00:00", "2023-11-20", "12月1日", "12-10",
    "10:30", "22:10:00", "2012", "120", "300", "1", "2", "tomorrow", "明天", "next week", "TBD", "string", "default",
    "N/A", "待定", "start_time", "user", "123 Main Street", "John Doe", "张三", "reason", "原因",
)  # fmt: skip
"""What agents put in where the user has said nothing. The first was taken from a live session, and was accepted."""


def test_a_value_that_was_made_up_is_never_the_users_word() -> None:
    """In no scenario and no language."""
    for one in scenarios(*DOMAINS):
        for language in LANGUAGES:
            words = one.words(language)
            asked = next(s.asked for s in one.steps if s.asked)
            others = [w.values[s.asked] for o in scenarios(*DOMAINS) if o is not one for s in o.steps if s.asked
                      for w in (o.zh, o.en)]  # fmt: skip
            assert [v for v in (*_MADE_UP, asked, *others) if words.accepted(v)] == [], (one.id, language)


@pytest.mark.parametrize(
    ("name", "language", "value"),
    [("sched-01", "zh", "2026-12-03 15:00"), ("sched-01", "zh", "下午3点"), ("sched-01", "en", "Thursday, 3:00 PM"),
     ("sched-01", "en", "2026-12-03T15:00:00"), ("sched-02", "zh", "周五 10:00"), ("sched-02", "en", "Friday 10:00"),
     ("sched-02", "en", "Friday at ten o'clock"), ("sched-03", "zh", "十二人"), ("sched-03", "en", "12"),
     ("sched-05", "zh", "2026-12-08"), ("sched-05", "en", "8th of December"), ("sched-05", "en", "12/08/2026"),
     ("sched-06", "en", "thirty"), ("supp-01", "en", "The size is wrong"), ("supp-02", "zh", "原路退回银行卡"),
     ("supp-03", "en", "No. 18, Zhongshan Rd."), ("supp-05", "zh", "2027-02-01"), ("supp-05", "en", "Feb 1st"),
     ("supp-05", "en", "2027-02-01"), ("supp-06", "en", "not cooling"), ("help-04", "en", "2026-12-31"),
     ("help-06", "zh", "20 G")],
)  # fmt: skip
def test_other_ways_to_say_what_the_user_said_are_accepted(name: str, language: Any, value: str) -> None:
    """A pattern that knows one spelling only would reject right calls."""
    assert scenario.scenario(name).words(language).accepted(value)


def test_the_two_renderings_say_the_same_things() -> None:
    """Same tools, same fields, same ids in the same turns; no text is left in the other language."""
    for one in scenarios(*DOMAINS):
        assert {t: set(w.fields) for t, w in one.zh.tools.items()} == {
            t: set(w.fields) for t, w in one.en.tools.items()
        }
        ids = [s.minted for s in one.steps if s.minted]
        for field in ("request", "ask", "answer", "confirm", "go", "finish", "thanks", "report", "go_on"):
            chinese, english = getattr(one.zh, field), getattr(one.en, field)
            assert bool(chinese) == bool(english)
            assert [i for i in ids if i in chinese] == [i for i in ids if i in english], (one.id, field)
            assert english.isascii(), english
            assert not chinese or not chinese.isascii()


def test_an_item_without_such_a_checkpoint_is_refused() -> None:
    """A single-step scenario has no mid-task stage."""
    with pytest.raises(KeyError):
        item("breadth", scenarios("helpdesk")[0], "step", "zh", "xml")


def test_a_trace_is_events_of_two_kinds() -> None:
    """Typed events only: what was said, and what returned."""
    assert {type(e) for e in trace(scenarios()[0], "post_done")} == {Said, Returned}
