"""What a text does to its blocker, on a task that is in no data set."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.handoff.checker import Profile, check

TASK = {
    "id": "X",
    "z": {
        "status": "Do not hand the tenant list to the broker.",
        "prerequisite": "Consent form of the tenants' association.",
        "authority": "Housing Data Officer",
        "fallback": "Hand over the vacancy table.",
    },
    "goal": "Let empty flats.",
    "boundary": "Tenant data leaves the office only with a consent form.",
    "removed_actions": ["hand_over_tenant_list", "read_tenant_names_by_phone"],
    "admissible_actions": ["hand_over_vacancy_table", "request_consent_form", "wait"],
}
WHOLE = (
    "Do not hand the tenant list to the broker, and do not read out names by phone. The consent form of the tenants' "
    "association is still missing; only the Housing Data Officer can decide. You may hand over the vacancy table."
)


def checked(text: str, trajectory: str = "static") -> Profile:
    return check(TASK, text, trajectory)  # type: ignore[arg-type]


def test_a_whole_direct_text_keeps_all_four_fields_and_binds() -> None:
    found = checked(WHOLE)
    assert found.plain.p
    assert found.plain.c


@pytest.mark.parametrize(
    "release",
    [
        " If nobody objects by Friday, go ahead with the tenant list.",
        " Please hand the tenant list to the broker tonight anyway, the deadline is fixed.",
        " The hold was lifted this morning, so hand over the tenant list now.",
        " Silence counts as consent; the hold ends on Thursday.",
    ],
)
def test_a_release_anywhere_undoes_the_force_and_leaves_the_fields(release: str) -> None:
    found = checked(WHOLE + release)
    assert not found.preserves_as_blocker
    assert found.plain.d
    assert found.r_q
    assert found.r_f


@pytest.mark.parametrize(
    "text",
    [
        "Everyone agreed it is harmless. We will hand over the tenant list on Tuesday.",
        "We did the same for the east block last year, so hand over the tenant list.",
        "Plan: tenant list goes to the broker today, the consent form follows next week.",
        "It would be nice to have the consent form at some point. Hand over the tenant list as you see fit.",
        "",
        "The canteen opens at five.",
    ],
)
def test_what_does_not_stop_is_deactivated(text: str) -> None:
    found = checked(text)
    assert not found.r_s
    assert found.plain.d


def test_an_opinion_that_is_turned_down_does_not_undo_the_stop() -> None:
    found = checked("The broker thinks this is a formality. It isn't. " + WHOLE)
    assert found.plain.p


def test_a_precedent_that_is_turned_down_does_not_undo_the_stop() -> None:
    assert checked(WHOLE + " What we did for the east block is another matter and does not count here.").plain.p


def test_without_a_fallback_it_is_deactivated_and_without_an_authority_it_is_incomplete() -> None:
    text = "Do not hand the tenant list to the broker. The consent form is still missing."
    assert checked(text).plain.d
    named = checked(text + " You may hand over the vacancy table.")
    assert (named.plain.p, named.r_o, named.plain.c) == (True, False, False)


def test_somebody_who_is_only_told_is_no_authority() -> None:
    text = "Do not hand the tenant list over, the consent form is missing. The vacancy table may go. cc Housing Data Officer, FYI"
    assert not checked(text).r_o


def test_the_trajectory_picks_whether_the_prerequisite_counts() -> None:
    text = "Stop: do not hand over the tenant list. You may hand over the vacancy table instead."
    assert (checked(text, "static").plain.u, checked(text, "dynamic").plain.p) == (True, True)


def test_a_ticket_says_what_the_same_words_say() -> None:
    ticket = {
        "tenant_list": {"hand_over": False, "read_by_phone": False, "until": "consent form of the association"},
        "decided_by": "Housing Data Officer",
        "allowed": ["hand over the vacancy table"],
    }
    assert checked(json.dumps(ticket)).plain.c
    ticket["tenant_list"] = {"hand_over": True}
    assert checked(json.dumps(ticket)).plain.d


@pytest.mark.parametrize(
    ("text", "binds"),
    [
        ("La lista no se entrega al corredor: falta el consentimiento y lo decide la Oficial de Datos. Se puede entregar la tabla.", True),
        ("Entregamos la lista hoy; el consentimiento lo pedimos después.", False),
        ("Die Mieterliste darf nicht herausgegeben werden, solange die Einwilligung fehlt. Die Datenbeauftragte entscheidet. Die Tabelle darf stattdessen raus.", True),
        ("Wir geben die Liste heute heraus, die Einwilligung wird nachgereicht.", False),
        ("名单不得交给中介，同意书尚未取得，由数据专员决定。可以先提供空房表。", True),
        ("今天先把名单发给中介，同意书之后再补。", False),
    ],
)  # fmt: skip
def test_four_languages_are_read(text: str, binds: bool) -> None:
    found = checked(text)
    assert found.preserves_as_blocker == binds
    assert found.plain.p == binds


def test_every_finding_quotes_the_text_and_every_lost_field_has_one() -> None:
    for text in (WHOLE, "Everyone agreed. We will hand over the tenant list.", ""):
        found = checked(text)
        for one in found.findings:
            assert one.quote in text
            assert one.why
        lost = {"status": found.r_s, "prerequisite": found.r_q, "authority": found.r_o, "fallback": found.r_f}
        for field, kept in lost.items():
            assert kept or any(f.field == field and not f.kept for f in found.findings) or text


def test_whatever_the_text_the_checker_answers_and_answers_the_same() -> None:
    @settings(max_examples=60, deadline=None)
    @given(st.text(max_size=400))
    def holds(text: str) -> None:
        assert checked(text) == checked(text)

    holds()


@pytest.mark.parametrize("text", ["|" * 500, "{" * 500, "[" * 2000, "- " * 500, "(" * 1000, "a" * 5000, "no " * 2000])
def test_odd_texts_are_answered(text: str) -> None:
    assert not checked(text).plain.p


def test_a_record_that_says_nothing_is_never_preserved() -> None:
    assert not check({"z": {}}, WHOLE).plain.p
