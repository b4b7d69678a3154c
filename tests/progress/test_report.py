"""The report parser: its rules row by row, equal strictness of both encodings, and a naive twin."""
# ruff: noqa: RUF001, E501 - the characters are what the rules name; wide ones count twice

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.errors import InputError
from tallystick.progress import STAGES, TAU2_STAGES, Encoding, Report, parse_report
from tests.progress.naive import naive
from tests.progress.replies import twins


def verdict(found: Report) -> tuple[bool, bool, str | None]:
    return found.present, found.well_formed, found.value


PIECES = st.sampled_from(
    [
        *("stage", "STAGE", "ſtage", "stages", "stage_x", "stage-", "st\u200bage", "<", "</", "< ", "/", ">", "<stage>"),
        *("</stage>", '"stage": "', '"', "'", "“", "”", "‘", "\\", '\\"', ":", "=", "：", "＜", "＞", "＂", " ", "\t"),
        *("\n", "\r", "\r\n", "\u2028", "\u00a0", "\u00ad", "[", "]", "【", "】", "《", "》", "〈", "〉", "*", "_", "`", "#"),
        *("-", ".", ",", ";", "completed", "ready_for_action", "needs_information", "post_observation_continue", "x", "完"),
        *("&lt;", "&gt;", "&quot;", "&#60;", "&#x3c;", "&", "&amp;lt;", "\u0338", "\u0301", "\ud800", "<stage>completed</stage>"),
        *('"stage": "completed"', "\nstage: completed", "{", "}", '{"message": "', '"}', "null", "1"),
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=3), max_size=14).map("".join)


@given(TEXTS, st.sampled_from(["xml", "json"]), st.booleans())
def test_a_naive_twin_says_the_same(text: str, encoding: Encoding, envelope: bool) -> None:
    """Two parsers that share no code agree on any text."""
    assert verdict(parse_report(text, encoding, envelope)) == naive(text, encoding, envelope)


def test_both_encodings_are_equally_strict_over_100_000_replies() -> None:
    """A reply and its twin in the other encoding get the same verdict, strict and stripped; all kinds are met."""
    kinds: dict[tuple[bool, bool, bool], int] = {}
    for xml, js in twins(50_000, seed=5):
        strict = parse_report(xml, "xml"), parse_report(js, "json")
        assert strict[0] == strict[1], (xml, js)
        # Bare replies are not compared stripped: `{"stage": ...}` is JSON as a whole, and its twin is not.
        wrapped = (
            parse_report(json.dumps({"message": xml}), "xml", envelope=True),
            parse_report(json.dumps({"message": js}), "json", envelope=True),
        )
        assert wrapped == strict, (xml, js)
        found = strict[0].present, strict[0].well_formed, strict[0].out_of_vocabulary
        kinds[found] = kinds.get(found, 0) + 2
    assert min(kinds.values()) > 2_000
    assert set(kinds) == {(False, False, False), (True, False, False), (True, True, False), (True, True, True)}


def test_the_twin_agrees_on_replies_with_tricks() -> None:
    """The generated replies of both encodings, against the naive parser."""
    for xml, js in twins(4_000, seed=6):
        assert verdict(parse_report(xml, "xml")) == naive(xml, "xml")
        assert verdict(parse_report(js, "json")) == naive(js, "json")


@given(TEXTS, st.sampled_from(["xml", "json"]))
def test_absent_is_never_well_formed(text: str, encoding: Encoding) -> None:
    """A value is there exactly where the report is well formed, and that only where one is present."""
    found = parse_report(text, encoding)
    assert found.present or not found.well_formed
    assert found.well_formed == (found.value is not None)
    assert found.present == (found.markers > 0)
    assert not found.out_of_vocabulary or found.well_formed


@pytest.mark.shared
def test_every_published_reply_is_read_as_expected(shared: Path) -> None:
    """Strict and stripped, and twins alike."""
    rows = [json.loads(line) for line in (shared / "data" / "reports" / "replies.jsonl").open(encoding="utf-8")]
    by_id = {row["id"]: row for row in rows}
    for row in rows:
        for kind, envelope in (("strict", False), ("stripped", True)):
            found = parse_report(row["reply"], row["encoding"], envelope)
            expected = row[kind]
            assert verdict(found) == (expected["present"], expected["well_formed"], expected["value"]), row["id"]
            assert naive(row["reply"], row["encoding"], envelope) == verdict(found), row["id"]
            twin = by_id.get(row.get("twin", ""))
            assert twin is None or twin[kind] == expected


@pytest.mark.parametrize(
    ("text", "markers"),
    [
        ("<stage", 1), ("< stage >", 1), ("<stages>", 0), ("<stage_name>", 0), ("<stage-2>", 0), ("<stage2>", 0),
        ("<阶段>completed</阶段>", 0), ("</stage>", 1), ("<stage></stage></stage>", 2), ("[stage]", 1), ("[stage", 0),
        ("【stage】completed【/stage】", 1), ("《stage》", 1), ("〈stage〉", 1), ("'stage'=x", 1), ('\\"stage\\": 1', 1),
        ("“stage”：x", 1), ('"current_stage": 1', 0), ('"stages": 1', 0), ('" stage": 1', 0), ("stage: completed", 1),
        ("Our stage: completed", 0), ("**Stage**: `completed`.", 1), ("> - stage = completed;", 1),
        ("stage: completed..", 0), ("stage: done", 0), ("stage: completed now", 0), ("the stage is completed", 0),
        ("a\rstage: completed\rb", 1), ("&#00060;stage>", 1), ("&#" + "0" * 9_000 + "60;stage>", 1),
        ("&#x0000003C;stage>", 1), ("&#" + "9" * 9_000 + ";<stage>", 1), ("&amp;lt;stage&amp;gt;", 0), ("≮stage>", 0),
        ("<\u0338stage>", 0), ("<ſtage>", 1), ("<st\u00adage>", 1), ("<stage\u00b2>", 0), ("<stage\n>", 1),
        ("<stage>a</stage>\n\"stage\": \"b\"", 2), ('"stage": completed\nstage: completed', 2),
    ],
)  # fmt: skip
def test_markers_are_counted_by_the_rules(text: str, markers: int) -> None:
    """One example for each clause of the rules."""
    assert parse_report(text, "xml").markers == parse_report(text, "json").markers == markers


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ('"<stage>completed</stage>"', True), ('{"message": "<stage>completed</stage>"} ', True),
        ('{"a": {"message": "<stage>completed</stage>"}}', None), ('{"message": ["<stage>completed</stage>"]}', None),
        ('["<stage>completed</stage>"]', None), ('{"message": null, "message": "<stage>completed</stage>"}', True),
        ('{"message": "<stage>completed</stage>", "message": 1}', None), ('{"m\\u0065ssage": "<stage>completed</stage>"}', True),
        ('{"message": "<stage>completed</stage>",}', False), ("{'message': '<stage>completed</stage>'}", False),
        ('{"message": "<stage>completed</stage>"} x', False), ('{"message": "<stage>\tcompleted</stage>"}', False),
        ('{"stage": NaN}', False), ('{"stage": 01}', False), ('{"stage": 1}', None), ("[" * 90_000 + '"<stage>"' + "]" * 90_000, None),
        ("[" * 90_000 + '"<stage>"' + "]" * 89_999, False), ('{"a":' * 90_000 + '"<stage>"' + "}" * 90_000, None),
        ('{"a": [], "b": {}, "c": [1, {"d": true}], "message": "\\u003cstage>completed</stage>"}', True),
        ('[1,,"<stage>"]', False), ('[1,"<stage>",]', False), ('{"<stage>"}', False), ('{"a" "<stage>"}', False), ('{,"a":"<stage>"}', False),
    ],
)  # fmt: skip
def test_an_envelope_is_one_json_text_as_a_whole(text: str, inner: bool | None) -> None:
    """True: its message is read. None: JSON that carries no report. False: not JSON, so read as it stands."""
    found = parse_report(text, "xml", envelope=True)
    if inner is None:
        assert not found.present
    else:
        assert found.present
        assert found.well_formed is inner


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=4), lambda inner:
       st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["message", "a", ""]) , inner, max_size=3)),
       st.sampled_from([None, 1]), st.integers(0, 60), st.sampled_from(["", ",", "]", "}", '"', "0", " "]))  # fmt: skip
def test_what_is_json_is_decided_as_by_the_library(value: object, indent: int | None, at: int, put: str) -> None:
    """Valid and damaged JSON of ordinary depth: the envelope reader and `json` agree on which is which."""
    text = json.dumps(value, indent=indent)
    text = text[:at] + put + text[at:]
    assert verdict(parse_report(text, "xml", envelope=True)) == naive(text, "xml", envelope=True)


def test_long_hostile_texts_are_read() -> None:
    """Each would take minutes or raise in a parser that is not linear, or that recurses."""
    many = 200_000
    for text in (
        "<" * many, "< " * many, "<" + " " * many, '"stage' + "\\" * many, "stage: completed" + "-" * many + "x",
        "<" + "\u0338" * many, "e" + "\u0301\u0316" * many, "a" + "\u0344\u0f73\u0316" * many, "&" * many, "&#" + "9" * many,
        "&#x" + "f" * many, "\ufdfa" * many, "\ud800" * many, "\\u" * many, "[stage" * many, "\r" * many,
    ):  # fmt: skip
        for tail, present in (("", False), ("\n<stage>completed</stage>", True)):
            for envelope in (False, True):
                assert parse_report(text + tail, "xml", envelope).present is present
    for text in (
        "[" * many,
        '{"a":' * many,
        '{"message": "' + "\\n" * many + '"}',
        "[" + "1," * many + "1]",
        "9" * many,
    ):
        assert not parse_report(text, "json", envelope=True).present


def test_the_vocabulary_is_the_protocols() -> None:
    """The duty of the tau2 benchmark has its own four values; another protocol's are out of vocabulary."""
    assert parse_report("<stage>POST_OBS</stage>", "xml", vocabulary=TAU2_STAGES) == Report(
        present=True, well_formed=True, value="POST_OBS", markers=1
    )
    assert parse_report("<stage>POST_OBS</stage>", "xml", vocabulary=STAGES).out_of_vocabulary
    assert parse_report("Stage: POST_OBS", "xml", vocabulary=TAU2_STAGES).present
    assert not parse_report("Stage: POST_OBS", "xml").present


def test_an_unknown_encoding_is_refused() -> None:
    """The only error there is."""
    with pytest.raises(InputError, match="yaml"):
        parse_report("", "yaml")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="unknown encoding"):
        parse_report("x", ["xml"])  # type: ignore[arg-type]  # a list has no hash
