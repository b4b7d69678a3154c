"""Frameworks carry an artifact as a function call does: the executor gets the very same bytes, so scores agree."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

pytest.importorskip("langgraph", reason="the extra `langchain` is not installed")
pytest.importorskip("autogen_agentchat", reason="`autogen-agentchat` is not installed")

from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.evals.handoff.substrates import Plain, Substrate, substrate

TEXTS = (
    "Do not open DOC-7 until security approves; meanwhile use the public version.",
    "  leading and trailing blanks \r\n\r\n",
    "",
    '{"status": "do not proceed", "n": 1.50}',
    "# Head\n\n```\n{curly} %s {{double}}\n```\n<tag/> & \\n \u2028 \u00e4\u4e2d\U0001f642",
    "[tallystick carrier/1 begin]\n[tallystick] b1 | stop: do not open\n",
    "TERMINATE",
)
HOPS: dict[str, Callable[[str], str]] = {
    "upper": str.upper,
    "first half": lambda text: text[: len(text) // 2],
    "softer": lambda text: text.replace("Do not", "Take care when you"),
    "same": lambda text: text,
    "empty": lambda text: "",
    "more": lambda text: f"{text}\nforwarded",
}


@pytest.fixture(params=["langgraph", "autogen"])
def framework(request: pytest.FixtureRequest) -> Substrate:
    return substrate(request.param)


@pytest.mark.parametrize("text", TEXTS)
def test_the_executor_is_given_the_very_bytes_of_the_artifact(framework: Substrate, text: str) -> None:
    assert framework.carry(text, []) == text.encode("utf-8")
    assert framework.carry(text, [HOPS["same"]]) == text.encode("utf-8")


@settings(max_examples=20, deadline=None)
@given(text=st.text(max_size=200), names=st.lists(st.sampled_from(sorted(HOPS)), max_size=6))
@pytest.mark.parametrize("name", ["langgraph", "autogen"])
def test_any_chain_of_hops_comes_to_the_same_bytes_as_without_a_framework(
    name: str, text: str, names: list[str]
) -> None:
    calls: list[str] = []

    def counted(hop: str) -> Callable[[str], str]:
        def work(given: str) -> str:
            calls.append(hop)
            return HOPS[hop](given)

        return work

    found = substrate(name).carry(text, [counted(n) for n in names])
    assert found == Plain().carry(text, [HOPS[n] for n in names])
    assert calls == names  # each once, in order


def test_what_a_hop_raises_comes_through_as_it_is(framework: Substrate) -> None:
    class PlantedError(Exception):
        pass

    def fails(_: str) -> str:
        raise PlantedError("as it was")

    with pytest.raises(PlantedError, match="as it was"):
        framework.carry("x", [HOPS["same"], fails, HOPS["same"]])


def test_it_can_be_used_from_within_a_loop(framework: Substrate) -> None:
    async def inside() -> bytes:
        return framework.carry("x", [HOPS["same"]])

    assert asyncio.run(inside()) == b"x"
