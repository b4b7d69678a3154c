"""What a guard remembers of a tool ends with the tool: one made for each request is not kept alive."""

from __future__ import annotations

import gc
import weakref

from tallystick.runtime.proposals import is_coroutine, misfit


class Connection:
    def read(self, item: str) -> str:
        return item

    async def later(self, item: str) -> str:
        return item


def test_a_tool_and_what_it_closes_over_go_when_nobody_else_holds_them() -> None:
    def asked() -> weakref.ref[Connection]:
        held = Connection()

        def tool(item: str) -> str:
            return held.read(item)

        assert misfit(tool, {"item": 1}) is None
        assert misfit(tool, {"other": 1})
        assert not is_coroutine(tool)
        assert misfit(held.read, {"item": 1}) is None
        assert not is_coroutine(held.read)
        return weakref.ref(held)

    gone = asked()
    gc.collect()
    assert gone() is None


def test_a_method_and_its_function_are_told_apart() -> None:
    one = Connection()
    assert misfit(one.read, {"item": 1}) is None
    assert misfit(Connection.read, {"item": 1})  # nobody is `self`
    assert misfit(Connection.read, {"self": one, "item": 1}) is None
    assert is_coroutine(one.later)
    assert not is_coroutine(one.read)


def test_however_many_names_callers_make_up_answers_stay_right() -> None:
    def tool(item: str) -> str:
        return item

    for number in range(200):
        assert misfit(tool, {f"name{number}": 1})
    assert misfit(tool, {"item": 1}) is None
