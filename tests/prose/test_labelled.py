"""The labelled claims of recorded agents, and wrong values seeded into their final messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.claims import score, seeded

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def labelled(shared: Path) -> tuple[Path, Path]:
    return shared / "data" / "state-bench", shared / "data" / "claims" / "claims.jsonl"


def test_of_the_false_claims_at_most_one_passes_and_of_the_true_ones_at_most_a_tenth_is_refused(labelled):
    folder, labels = labelled
    rows = [json.loads(line) for line in labels.read_text("utf-8").splitlines()]
    found = score(folder, rows, show=False)
    judged = found["by_support"]
    good = sum(sum(judged[k].values()) for k in ("supported", "derivable"))
    assert (found["claims"], good) == (540, 481)
    assert found["false_support"] <= 1
    assert found["false_refusal"] <= good // 10


def test_the_verifier_sees_of_a_label_only_the_message_the_offset_and_the_span(labelled):
    folder, labels = labelled
    rows = [json.loads(line) for line in labels.read_text("utf-8").splitlines()][:2]
    shown = score(folder, rows, show=False)
    for row in rows:
        for claim in row["claims"]:
            for name in set(claim) - {"message", "start", "span", "support", "kind"}:
                claim[name] = None
    hidden = score(folder, rows, show=False)
    assert hidden["by_support"] == shown["by_support"]


def test_invented_values_in_final_messages_are_all_refused(labelled):
    found = seeded(labelled[0], wanted=300, show=False)
    assert found["seeded"] == 300
    invented = {k: v for k, v in found["by_kind"].items() if k.startswith("invented")}
    assert all(v["refused"] == v["seeded"] for v in invented.values()), invented
    assert found["refused"] >= 297  # values of another entity may be true of a third
