"""The roles of an episode as agents of an AutoGen swarm, each handing over by a `HandoffMessage`.

A swarm shows every agent every message. The executor stands behind AutoGen's own filter, which gives it the last
message of the role before it, and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from autogen_agentchat.agents import (
    AssistantAgent,
    BaseChatAgent,
    MessageFilterAgent,
    MessageFilterConfig,
    PerSourceFilter,
)
from autogen_agentchat.base import Response
from autogen_agentchat.conditions import StopMessageTermination
from autogen_agentchat.messages import BaseChatMessage, HandoffMessage, StopMessage
from autogen_agentchat.teams import Swarm
from autogen_core import CancellationToken
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
)

from tallystick.evals.handoff.substrates import Hop

_FIRST: Final = "requester"
_EXECUTOR: Final = "executor"


class AutoGen:
    """Each hop is an agent of a swarm; the executor is an assistant agent with a model of its own."""

    name: Final = "autogen"

    def carry(self, text: str, hops: Sequence[Hop]) -> bytes:
        """Return the bytes that the executor's model was given."""
        # A loop of its own, on a thread of its own: the caller may be in one.
        with ThreadPoolExecutor(1, thread_name_prefix="tallystick-autogen") as thread:
            return thread.submit(lambda: asyncio.run(_carried(text, hops))).result()


async def _carried(text: str, hops: Sequence[Hop]) -> bytes:
    names = [_FIRST, *(f"role_{n}" for n in range(len(hops))), _EXECUTOR]
    failed: list[BaseException] = []
    works: list[Hop] = [lambda _: text, *hops]
    roles = [_Role(name, work, to, failed) for name, work, to in zip(names, works, names[1:], strict=False)]
    model = _Notes()
    only = MessageFilterConfig(per_source=[PerSourceFilter(source=names[-2], position="last", count=1)])
    executor = AssistantAgent(_EXECUTOR, model_client=model, system_message=None)
    team = Swarm(
        [*roles, MessageFilterAgent(_EXECUTOR, wrapped_agent=executor, filter=only)],
        termination_condition=StopMessageTermination(),
        max_turns=len(names),
    )
    await team.run()
    if failed:
        raise failed[0]
    ((given,),) = model.seen  # one call of its model, one message: it was shown nothing else
    assert isinstance(given.content, str)
    return given.content.encode("utf-8")


class _Role(BaseChatAgent):
    """An agent that passes on what its hop makes of the last message."""

    def __init__(self, name: str, work: Hop, to: str, failed: list[BaseException]) -> None:
        super().__init__(name, description="a role of the episode")
        self._work = work
        self._to = to
        self._failed = failed

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (HandoffMessage, StopMessage)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        del cancellation_token
        given = messages[-1].to_model_text() if messages else ""
        try:
            made = await asyncio.to_thread(self._work, given)
        except Exception as bad:  # noqa: BLE001 - a swarm makes a text of it; whoever asked for the hop gets it as it was
            self._failed.append(bad)
            return Response(chat_message=StopMessage(content="failed", source=self.name))
        return Response(chat_message=HandoffMessage(content=made, target=self._to, source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        del cancellation_token


class _Notes(ChatCompletionClient):
    """A model that keeps what it is given."""

    def __init__(self) -> None:
        self.seen: list[Sequence[LLMMessage]] = []

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        del options
        self.seen.append(messages)
        return CreateResult(content="received", finish_reason="stop", usage=_NOTHING, cached=False)

    async def create_stream(
        self, messages: Sequence[LLMMessage], **options: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        yield await self.create(messages, **options)

    async def close(self) -> None:
        """Nothing is open."""

    def actual_usage(self) -> RequestUsage:
        return _NOTHING

    def total_usage(self) -> RequestUsage:
        return _NOTHING

    def count_tokens(self, messages: Sequence[LLMMessage], **options: Any) -> int:
        del messages, options
        return 0

    def remaining_tokens(self, messages: Sequence[LLMMessage], **options: Any) -> int:
        del messages, options
        return 1 << 20

    @property
    def capabilities(self) -> Any:
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        return ModelInfo(
            vision=False, function_calling=False, json_output=False, family=ModelFamily.UNKNOWN, structured_output=False
        )


_NOTHING: Final = RequestUsage(prompt_tokens=0, completion_tokens=0)
