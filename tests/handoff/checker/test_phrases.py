"""The table of phrases beside the signals, the script that fits it, and the texts of ours it is fitted on."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from benchmarks import handoff_checker as bench
from benchmarks import handoff_checker_fit as fit

from tallystick.handoff.checker import Profile, check
from tallystick.handoff.checker.phrases import FIELDS, leaning, phrases
from tallystick.handoff.checker.reading import read
from tallystick.handoff.checker.signals import SAYINGS
from tallystick.handoff.checker.weights import WEIGHTS

WRITTEN = bench.rows(Path(__file__).with_name("written.jsonl"))


def test_labels_of_our_own_texts_follow_the_rule() -> None:
    for row in WRITTEN:
        label = row["label_final"]
        fields = {f: bool(label[f]) for f in ("r_s", "r_q", "r_o", "r_f", "preserves_as_blocker")}
        caveat = bool(label["caveat_or_later_check_or_omission"])
        assert Profile(trajectory=row["trajectory"], caveat_or_later_check_or_omission=caveat, **fields).row() == label


def test_our_own_texts_are_each_another_and_have_both_outcomes() -> None:
    assert len({r["artifact"] for r in WRITTEN}) == len({r["id"] for r in WRITTEN}) == len(WRITTEN)
    assert min(Counter(r["label_final"]["P"] for r in WRITTEN).values()) > 200


def test_every_kind_with_a_weight_is_one_a_text_can_give() -> None:
    assert WEIGHTS.keys() == set(FIELDS)
    assert all(weights.keys() <= SAYINGS.keys() | {"bias"} for weights in WEIGHTS.values())


def test_a_task_s_own_words_stand_as_places(task: dict[str, Any]) -> None:
    found = phrases(read(task, "Do not send the tenant register. Send the occupancy totals."))
    assert "b tenant register" not in found
    assert {"u <S>", "u <W>", "S|NEG", "W|POS"} <= found


def test_without_known_phrases_only_the_constant_leans() -> None:
    for name in FIELDS:
        assert leaning(name, ["b never met"]) == leaning(name, [])


def test_a_variant_changes_only_the_label_it_names() -> None:
    for changed in fit.variants(WRITTEN[:200]):
        before = next(r for r in WRITTEN if r["id"] == changed["id"])
        assert before["artifact"] in changed["artifact"]
        moved = {f for f, v in changed["label_final"].items() if v != before["label_final"][f]}
        assert moved <= {"preserves_as_blocker", "r_f"}


def test_a_fold_is_read_without_its_own_task(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    some = [r for r in WRITTEN if r["task"]["id"] in {"own5U1", "own5U2", "own5U3"}]
    path = tmp_path / "some.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in some), encoding="utf-8")
    assert fit.main([str(path)]) == 0
    assert f"some.jsonl {len(some)} P " in capsys.readouterr().out
    assert fit.main([str(tmp_path / "none.jsonl")]) == 2


def test_a_clock_outweighs_any_number_of_stops(task: dict[str, Any]) -> None:
    stops = "Do not send the tenant register. The tenant register is blocked. Nobody may send the tenant register. " * 3
    tail = "The signed agreement is missing; the Head of Housing decides. Send the occupancy totals."
    assert check(task, stops + tail).preserves_as_blocker
    assert not check(task, f"{stops}{tail} If nobody objects by noon, it goes out.").preserves_as_blocker
