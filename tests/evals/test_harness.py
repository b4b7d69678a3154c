"""Models in a harness (our loop, Inspect's, Pydantic AI's) over real HTTP; the model is a path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path as File
from typing import Any

import pytest

from tallystick.errors import InputError
from tallystick.evals.evidence.case import Case
from tallystick.evals.evidence.harness.agents import HARNESSES, in_harness, scripted
from tallystick.evals.evidence.harness.chat import ChatModel, parsed
from tallystick.evals.evidence.run import EPISODES, read_episodes, run
from tallystick.models import ChatEndpoint
from tests.evals.fake_model import Path, Reply, call, endpoint

NEEDS = {"inspect": "inspect_ai", "pydantic-ai": "pydantic_ai"}


def agent(url: str, harness: str, **options: Any) -> Callable[..., Any]:
    if harness in NEEDS:
        pytest.importorskip(NEEDS[harness], reason=f"the extra of the {harness} harness is not installed")
    model = ChatModel(name="path", endpoint=ChatEndpoint(base_url=url, timeout=30))
    return in_harness(model, harness, **options)


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_model_that_takes_the_right_path_succeeds_in_every_protocol(
    harness: str, cases: tuple[Case, ...], tmp_path: File
) -> None:
    """Exact case success through the whole chain; and the prompt holds the public part and nothing else."""
    model = Path(cases)
    with endpoint(model) as url:
        told = run(agent(url, harness), limit=5, out=tmp_path, name=f"path/{harness}", resample=False)
    assert told["scored"] == 5
    assert {p: found["ECS"]["hits"] for p, found in told["protocols"].items()} == dict.fromkeys(told["protocols"], 1)
    assert len(told["protocols"]) == 5
    tools = {t["function"]["name"] for t in model.seen[-1]["tools"]}
    assert "submit" in tools


@pytest.mark.parametrize("harness", HARNESSES)
def test_an_endpoint_that_fails_is_excluded_and_stops_the_run(harness: str, tmp_path: File) -> None:
    """Three in a row end the run with the reason; none of them is scored against the agent."""
    with (
        endpoint(lambda _: {"status": 500, "message": "overloaded"}) as url,
        pytest.raises(InputError, match="one after"),
    ):
        run(agent(url, harness), protocol="V1", limit=5, out=tmp_path, name="down", resample=False)
    assert [e.end for e in read_episodes(tmp_path / EPISODES)] == ["infrastructure"] * 3


def odd(request: dict[str, Any]) -> dict[str, Any]:
    """Calls what is not there, with arguments that are none, then talks, then submits a label that is none."""
    turn = sum(m["role"] == "assistant" for m in request["messages"])
    return [
        call("open_sesame", {}, 0),
        call("get_request", "{not json", 1),
        call("submit", {"label": "PERHAPS"}, 2),
        call("submit", {"label": "BLOCK"}, 3),
    ][min(turn, 3)]


@pytest.mark.parametrize("harness", HARNESSES)
def test_odd_calls_are_told_to_the_model_and_scored_as_the_agents(harness: str, tmp_path: File) -> None:
    """Nothing crashes, no broken arguments go back to the endpoint; it ends with the label that was a label."""
    with endpoint(odd) as url:
        run(agent(url, harness), protocol="V0", limit=1, out=tmp_path, name="odd", resample=False)
    (episode,) = read_episodes(tmp_path / EPISODES)
    assert (episode.end, episode.label) == ("submitted", "BLOCK")


@pytest.mark.parametrize(
    ("reply", "words"),
    [(lambda _: {"role": "assistant", "content": "Certainly."}, "stopped"), (lambda _: call("list_x", {}), "stopped")],
)
@pytest.mark.parametrize("harness", HARNESSES)
def test_talk_and_loops_are_bounded(harness: str, reply: Reply, words: str, tmp_path: File) -> None:
    """A model that only talks, or repeats a call for ever, ends unsubmitted after its turns."""
    with endpoint(reply) as url:
        run(agent(url, harness, max_turns=6), protocol="V0", limit=1, out=tmp_path, name="loops", resample=False)
    (episode,) = read_episodes(tmp_path / EPISODES)
    assert episode.end == words
    assert len(episode.calls) <= 6


@pytest.mark.parametrize("harness", ["inspect", "pydantic-ai"])
def test_a_model_the_framework_does_not_know_is_an_error_before_anything_runs(harness: str) -> None:
    """A bare name is the framework's to know; a wrong one is not scored as an agent that failed 656 times."""
    pytest.importorskip(NEEDS[harness])
    with pytest.raises(InputError, match="no usable model `nonsense"):
        in_harness("nonsense/x" if harness == "inspect" else "nonsense:x", harness)


def test_each_frameworks_own_fake_model_plays_offline(tmp_path: File) -> None:
    """Inspect's mock model and Pydantic AI's function model, put before a case as a user's own model would be."""
    pytest.importorskip("inspect_ai")
    pytest.importorskip("pydantic_ai")
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from pydantic_ai.messages import ModelResponse, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from tallystick.evals.evidence.harness.inspect_react import InspectReact
    from tallystick.evals.evidence.harness.pydantic_loop import PydanticLoop

    def reply(*_: Any) -> ModelOutput:
        output = ModelOutput.for_tool_call("mock", "submit", {"label": "DEFER"})
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    def respond(*_: Any) -> ModelResponse:
        return ModelResponse(parts=[ToolCallPart("submit", {"label": "DEFER"})])

    mock = get_model("mockllm/model", custom_outputs=reply, memoize=False)
    for name, own in (("mock", InspectReact(model=mock)), ("function", PydanticLoop(model=FunctionModel(respond)))):
        run(own, protocol="V0", limit=1, out=tmp_path / name, name=name, resample=False)
        (episode,) = read_episodes(tmp_path / name / EPISODES)
        assert (episode.end, episode.label) == ("submitted", "DEFER")


def test_names_of_scripted_agents() -> None:
    """`scripted:FAULT[:P]`, both spellings; what is not there is one clear error."""
    assert scripted("scripted:acts-early:0.3").name == "scripted:acts_early@0.3"
    assert scripted("scripted").name == scripted("scripted:correct").name == "scripted:correct"
    for bad in ("scripted:naps", "scripted:acts_early:2", "scripted:acts_early:often", "scripted:acts_early:nan"):
        with pytest.raises(InputError):
            scripted(bad)


def test_the_loop_needs_an_endpoint_and_no_harness_is_invented() -> None:
    """A model's bare name is for a framework that knows it."""
    with pytest.raises(InputError, match="needs an endpoint"):
        in_harness("gpt", "loop")
    with pytest.raises(InputError, match="no harness"):
        in_harness("gpt", "abacus")


@pytest.mark.parametrize("raw", ["", "[]", "3", "NaN", '{"a": NaN}', "{"])
def test_arguments_that_are_no_object_are_none(raw: str) -> None:
    assert parsed(raw) is None
