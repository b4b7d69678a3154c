"""A block that mail, chat and ticket systems rewrote is what it is where its bytes prove it; it never goes unseen."""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick import Run
from tallystick.handoff import Carrier, blocks, prose, render, with_block
from tallystick.model.values import EntityRef
from tests.handoff.desk import Desk, blocked, guarded
from tests.handoff.test_forms import carriers

PROSE = 'Please finish the work.\nThe requester is waiting, and says "soon".\n'
Rewrite = Callable[[str], str]


def lines(change: Rewrite) -> Rewrite:
    return lambda text: "".join(change(line) for line in text.splitlines(keepends=True))


def smart(text: str) -> str:
    out, opened = [], False
    for letter in text.replace("'", "\u2019"):
        if letter == '"':
            out.append("\u201d" if opened else "\u201c")
            opened = not opened
        else:
            out.append(letter)
    return "".join(out)


PROVEN: dict[str, Rewrite] = {
    "one line": lambda text: " ".join(text.split()),
    "one line, tabs": lambda text: "\t".join(text.split()),
    "quoted": lines(lambda line: f"> {line}"),
    "quoted twice": lines(lambda line: f"> > {line}"),
    "quoted without a blank": lines(lambda line: f">{line}"),
    "quoted, then one line": lambda text: " ".join("".join(f"> {x}" for x in text.splitlines(keepends=True)).split()),
    "indented": lines(lambda line: f"        {line}"),
    "indented by a tab": lines(lambda line: f"\t{line}"),
    "indented by hard blanks": lines(lambda line: f"\u00a0\u00a0{line}"),
    "a list": lines(lambda line: f"- {line}"),
    "a table": lines(lambda line: f"| {line.rstrip()} |\n"),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "CR": lambda text: text.replace("\n", "\r"),
    "blank lines between": lambda text: text.replace("\n", "\n\n"),
    "a byte order mark": lambda text: f"\ufeff{text}",
    "words before": lambda text: f"Note: {text}",
    "words after": lambda text: text.replace("]\nPlease", "] Please"),
    "CR CR LF": lambda text: text.replace("\n", "\r\r\n"),
    "a line separator": lambda text: text.replace("\n", "\u2028"),
    "blanks at the ends": lines(lambda line: line.replace("\n", "  \n")),
    "escaped": html.escape,
    "escaped without quotes": lambda text: html.escape(text, quote=False),
    "smart quotes": smart,
    "wrapped at blanks": lambda text: "\n".join(
        textwrap.fill(line, 100, break_long_words=False, break_on_hyphens=False) for line in text.split("\n")
    ),
}
UNPROVEN: dict[str, Rewrite] = {
    "wrapped anywhere": lambda text: "\n".join(
        line[at : at + 76] for line in text.split("\n") for at in range(0, max(len(line), 1), 76)
    ),
    "quoted and escaped": lambda text: html.escape("".join(f"> {x}" for x in text.splitlines(keepends=True))),
    "upper case": lambda text: text.upper(),
    "one line, softened": lambda text: " ".join(text.replace("do not proceed", "worth a look").split()),
    "quoted, softened": lambda text: "".join(
        f"> {x}" for x in text.replace("do not proceed", "worth a look").splitlines(keepends=True)
    ),
    "quoted, a line gone": lambda text: "".join(
        f"> {x}" for x in text.splitlines(keepends=True) if "decided by" not in x
    ),
    "quoted, without the data": lambda text: "".join(
        f"> {x}" for x in text.splitlines(keepends=True) if "json]" not in x
    ),
    "full-width": lambda text: text.replace("[", "\uff3b").replace("]", "\uff3d"),
    "letters split": lambda text: text.replace("[tallystick", "[\u200btallystick"),
    "as a JSON text": lambda text: json.dumps({"was": text}),
    "as a JSON text twice": lambda text: json.dumps(json.dumps({"was": text})),
}


@pytest.fixture
def run() -> Run:
    return guarded(Desk()).run(run_id="here")


def sent(run: Run) -> str:
    blocked(run)
    run.block("b2", "use_public", status='say "no"', prerequisite="the owner's yes & a > b", authority="it's \"ops\"",
              fallback="wait <1 day>", entity=EntityRef("resource", "F-1"))  # fmt: skip
    found = run.hand_off("x", PROSE)
    assert isinstance(found.artifact, str)
    return found.artifact


@pytest.mark.parametrize("name", PROVEN)
def test_where_the_bytes_prove_it_a_rewritten_block_is_the_block(run: Run, name: str) -> None:
    rewritten = PROVEN[name](sent(run))
    found = run.receive(rewritten, repair=False)
    assert (found.verdict, found.state, found.losses, found.preserved) == ("accept", "complete", (), True)
    for said in ([{"role": "user", "content": rewritten}], [{"role": "user", "content": [{"text": rewritten}]}]):
        assert run.receive(said, repair=False).state == "complete"
    # Once the record moves on, it is the old one; what stands in its place is the new one, and only that.
    run.block("b3", "share_file", prerequisite="a look")
    later = run.receive(rewritten)
    assert (later.verdict, later.state, later.preserved) == ("repaired", "stale", False)
    assert [b.carrier for b in blocks(later.artifact, "text")] == [later.carrier]
    assert later.artifact.count("carrier/1 begin]") == 1
    assert run.receive(later.artifact, repair=False).state == "complete"


@pytest.mark.parametrize("name", UNPROVEN)
def test_where_they_do_not_it_is_never_taken_in_silence(run: Run, name: str) -> None:
    rewritten = UNPROVEN[name](sent(run))
    found = run.receive(rewritten, repair=False)
    assert (found.verdict, found.preserved) == ("reject", False)
    assert found.state in ("edited", "partial", "foreign")
    repaired = run.receive(rewritten, discard_foreign=True)
    assert repaired.verdict == "repaired"
    assert run.receive(repaired.artifact, repair=False).state == "complete"


@pytest.mark.parametrize("name", [*PROVEN, *UNPROVEN])
def test_of_another_run_it_is_rejected_however_it_was_rewritten(name: str) -> None:
    guard = guarded(Desk())
    other, here = guard.run(run_id="other"), guard.run(run_id="here")
    rewritten = {**PROVEN, **UNPROVEN}[name](sent(other))
    found = here.receive(rewritten)  # nothing is open here: without its marks it would go as it is
    assert (found.verdict, found.state) == ("reject", "foreign")
    assert {f.run.lower() for f in found.foreign} == {"other"}
    if name == "upper case":
        return  # of a run `OTHER`, as far as it goes: nobody's source, so it can only be discarded
    taken = here.receive(rewritten, source=other)
    assert taken.accepted
    assert here.call("open_document", {"resource": "DOC-7"}).decision.codes == ("condition.open",)
    assert here.hand_off("next", taken.artifact).accepted


@pytest.mark.parametrize("where", ["member", "deep", "list", "key", "whole ticket", "tool result", "tool call"])
def test_of_another_run_anywhere_in_an_artifact_it_is_seen(where: str) -> None:
    guard = guarded(Desk())
    other, here = guard.run(run_id="other"), guard.run(run_id="here")
    text = sent(other)
    ticket = other.hand_off("x", {"title": "t"}).artifact
    artifact: Any = {
        "member": {"title": "t", "description": text},
        "deep": {"a": [{"b": {"c": [text]}}]},
        "list": {"comments": ["fine", text]},
        "key": {text: 1},
        "whole ticket": {"title": "t", "original": ticket},
        "tool result": [
            {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": text}]}]}
        ],
        "tool call": [
            {"role": "assistant", "content": None, "tool_calls": [{"function": {"arguments": json.dumps({"q": text})}}]}
        ],
    }[where]
    found = here.receive(artifact)
    assert (found.verdict, {f.run for f in found.foreign}) == ("reject", {"other"})
    assert not here.hand_off("x", artifact).accepted
    if isinstance(artifact, dict):
        assert not here.receive(json.dumps(artifact), form="ticket-text").accepted
    assert here.receive(artifact, discard_foreign=True).accepted


@pytest.mark.parametrize(
    "piece",
    [
        '"run":"other","seq":3}\n[tallystick carrier/1 end ' + "ab" * 32 + "]\nGo on.",
        '],"carrier":"carrier/1","head":"ab","left":[],"resolved":[],"run":"other","seq":3}\nGo on.',
        "[tallystick carrier/1 begin]\n[tallystick] run other: 1 open blo",
        "> [tallystick carrier/1 begin]\n> [tallystick] run other",
        "ick] run other: 1 open blocker [tallystick] b1 | stop: do not share Go on.",
    ],
)
def test_what_a_tear_left_of_another_runs_block_names_it_and_of_ones_own_does_not(piece: str) -> None:
    guard = guarded(Desk())
    found = guard.run(run_id="here").receive(piece)
    assert (found.verdict, {f.run for f in found.foreign}) == ("reject", {"other"})
    own = guard.run(run_id="others").receive(piece.replace('"other"', '"others"').replace("other:", "others:"))
    assert own.verdict == "repaired"


def test_a_text_about_blocks_is_repaired_once_and_is_at_rest_then(run: Run) -> None:
    about = "A block starts with `[tallystick carrier/1 begin]` and says `[tallystick] b1 | stop: do not pay`.\n"
    found = run.receive(about)
    assert (found.state, found.verdict, prose(found.artifact, "text")) == ("edited", "repaired", about)
    assert run.receive(found.artifact, repair=False).verdict == "accept"


MIXED = st.lists(
    st.one_of(
        st.sampled_from(["> ", "\n", " ", "[", "[tallystick", "]", "x", "\r\n", "- ", "[tallystick] x\n"]),
        st.integers(0, 8),
    ),
    max_size=14,
)


@settings(max_examples=150, deadline=None)
@given(carriers(), carriers(), MIXED)
def test_taking_blocks_out_leaves_none_and_a_repaired_text_is_at_rest(
    carrier: Carrier, other: Carrier, parts: list[Any]
) -> None:
    whole = "\n".join(render(carrier))
    quoted = "\n".join(f"> {x}" for x in render(other))
    joined = [" ".join("\n".join(render(one)).split()) for one in (carrier, other)]
    pieces = [whole, *joined, quoted, whole[:40], whole[40:], "[tallystick carrier/1 begin]", render(carrier)[-1], "> "]
    text = "".join(pieces[part] if isinstance(part, int) else part for part in parts)
    repaired = with_block(text, "text", other)
    assert with_block(repaired, "text", other) == repaired
    assert [b.carrier for b in blocks(repaired, "text") if b.whole][:1] == [other]
    assert all(b.carrier == other for b in blocks(repaired, "text"))
    message = [{"role": "user", "content": text, "at": 1}]
    again = with_block(message, "messages", other)
    assert with_block(again, "messages", other) == again
