"""The suite as an Inspect task, found by its name, run with Inspect's mock model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tallystick.evals.evidence.case import Case

inspect_ai = pytest.importorskip("inspect_ai", reason="the `evals` extra is not installed")


def ends_at_once(label: str) -> Any:
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def reply(*_: Any) -> ModelOutput:
        output = ModelOutput.for_tool_call("mock", "submit", {"label": label})
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # or a tokenizer is downloaded
        return output

    return get_model("mockllm/model", custom_outputs=reply, memoize=False)


def test_a_mock_model_is_scored_by_the_evaluator(tmp_path: Path, by_id: dict[str, Case]) -> None:
    """`tallystick/evidence` runs samples that are cases, over epochs, and reports our measures by protocol."""
    (log,) = inspect_ai.eval(
        "tallystick/evidence", task_args={"protocol": "V0", "limit": 2, "epochs": 2}, model=ends_at_once("BLOCK"),
        display="none", log_dir=str(tmp_path),
    )  # fmt: skip
    assert log.status == "success"
    assert log.samples is not None
    assert len(log.samples) == 4
    assert all(s.id in by_id for s in log.samples)
    metrics = {name: m.value for name, m in log.results.scores[0].metrics.items()}
    assert (metrics["V0 ECS"], metrics["V0 BSR"], metrics["V0 PAR"]) == (0.0, 1.0, 0.0)
    score = log.samples[0].scores["by_evidence"]
    assert score.value == 0
    assert "evidence.unresolved" in score.explanation


def test_a_sample_holds_the_public_part_only(by_id: dict[str, Case]) -> None:
    """Prompt, protocol and domain; no label, no evidence, no reference."""
    from tallystick.evals.evidence.harness.inspect_task import evidence

    for sample in evidence(limit=10).dataset:
        case = by_id[str(sample.id)]
        assert case.public.text in str(sample.input)
        assert sample.metadata == {"protocol": case.protocol, "domain": case.domain}
        assert sample.target == ""
