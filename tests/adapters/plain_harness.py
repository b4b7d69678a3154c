"""The suite's own reference: a plain loop that calls `run.call`; and the same loop with one thing wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tallystick import Run
from tallystick.testing.conformance import Ask, Final, Model, Seen, Transcript, Turn


class PlainHarness:
    """A loop as a careful host would write it. Each method is a place where a careless one goes wrong."""

    features = frozenset({"parallel", "cut", "holds_text", "stops"})

    def drive(
        self,
        run: Run,
        tools: Mapping[str, Callable[..., Any]],
        model: Model,
        *,
        max_turns: int,
        fragments: bool = False,
    ) -> Transcript:
        told = Transcript()
        try:
            while told.turns < max_turns:
                turn = model(told.seen)
                told.turns += 1
                if turn is None or not self.take(run, tools, turn, told):
                    break
        except Exception as bad:
            told.raised = bad
        self.leave(run)
        return told

    def take(self, run: Run, tools: Mapping[str, Callable[..., Any]], turn: Turn, told: Transcript) -> bool:
        """Take one turn; False when the run is over."""
        for ask in turn.calls:
            told.seen.append(Seen(id=ask.id, text=self.call(run, tools, ask)))
        if turn.final is not None and self.finish(run, turn.final, told):
            return False
        return run.status is None

    def call(self, run: Run, tools: Mapping[str, Callable[..., Any]], ask: Ask) -> str:
        return run.call(ask.tool, dict(ask.args), tools[ask.tool], native_id=ask.id, complete=not ask.cut).text()

    def finish(self, run: Run, final: Final, told: Transcript) -> bool:
        answer = run.finish(final.text, final.claims)
        if answer.accepted:
            told.shown.append(final.text)
        else:
            told.seen.append(Seen(id="", text=str(answer)))
        return answer.accepted

    def leave(self, run: Run) -> None:
        run.close("framework.exit")


class PlainTextHarness(PlainHarness):
    """The same loop for a model that states no claims: they are read from its text."""

    def finish(self, run: Run, final: Final, told: Transcript) -> bool:
        return super().finish(run, replace(final, claims=None), told)  # type: ignore[arg-type]  # as a host leaves it out


class PlainFinishHarness(PlainHarness):
    """The same loop with the finish tool, called with the JSON text a model wrote."""

    def finish(self, run: Run, final: Final, told: Transcript) -> bool:
        answer = run.finish_tool()(json.dumps({"text": final.text, "claims": dict(final.claims)}))
        if answer.accepted:
            told.shown.append(final.text)
        else:
            told.seen.append(Seen(id="", text=str(answer)))
        return answer.accepted


class RunsWhenTheGuardCrashes(PlainHarness):
    """As a framework that swallows what its hooks raise."""

    def call(self, run: Run, tools: Mapping[str, Callable[..., Any]], ask: Ask) -> str:
        try:
            return super().call(run, tools, ask)
        except RuntimeError:
            return json.dumps(tools[ask.tool](**ask.args))


class ForgetsTheId(PlainHarness):
    def call(self, run: Run, tools: Mapping[str, Callable[..., Any]], ask: Ask) -> str:
        return run.call(ask.tool, dict(ask.args), tools[ask.tool], complete=not ask.cut).text()


class RunsItAnyway(PlainHarness):
    """The veto is only advice."""

    def call(self, run: Run, tools: Mapping[str, Callable[..., Any]], ask: Ask) -> str:
        outcome = run.call(ask.tool, dict(ask.args), tools[ask.tool], native_id=ask.id, complete=not ask.cut)
        if outcome.refused:
            tools[ask.tool](**ask.args)
        return outcome.text()


class RecordsTheVetoAsACall(PlainHarness):
    """Its after-hook fires for a vetoed call too."""

    def call(self, run: Run, tools: Mapping[str, Callable[..., Any]], ask: Ask) -> str:
        text = super().call(run, tools, ask)
        if "was not run" in text:
            run.call("look", {"book": "hook"}, lambda book: {"id": book}, native_id=ask.id)
        return text


class HidesTheReason(PlainHarness):
    def call(self, run: Run, tools: Mapping[str, Callable[..., Any]], ask: Ask) -> str:
        outcome = run.call(ask.tool, dict(ask.args), tools[ask.tool], native_id=ask.id, complete=not ask.cut)
        return "denied" if outcome.refused else outcome.text()


class IgnoresTheCut(PlainHarness):
    def call(self, run: Run, tools: Mapping[str, Callable[..., Any]], ask: Ask) -> str:
        return run.call(ask.tool, dict(ask.args), tools[ask.tool], native_id=ask.id).text()


class ShowsTheTextFirst(PlainHarness):
    """As a stream that is not held."""

    def finish(self, run: Run, final: Final, told: Transcript) -> bool:
        told.shown.append(final.text)
        return run.finish(final.text, final.claims).accepted


class BelievesTheLastWord(PlainHarness):
    """The final text ends the loop, accepted or not."""

    def finish(self, run: Run, final: Final, told: Transcript) -> bool:
        super().finish(run, final, told)
        return True


class HidesTheDeficits(PlainHarness):
    """It says no, and not why."""

    def finish(self, run: Run, final: Final, told: Transcript) -> bool:
        over = super().finish(run, final, told)
        told.seen = [Seen(id="", text="not accepted") if s.id == "" else s for s in told.seen]
        return over


class LooksOnlyAtTheText(PlainHarness):
    """It drops claims that the model got wrong, and with them what would be wrong about them."""

    def finish(self, run: Run, final: Final, told: Transcript) -> bool:
        if not all(isinstance(v, int) for v in final.claims.values()):
            told.shown.append(final.text)
            return True
        return super().finish(run, final, told)


class ClosesAStuckRunByItself(PlainHarness):
    """It ends the run at the first refused last word, whatever the guard says."""

    def finish(self, run: Run, final: Final, told: Transcript) -> bool:
        if not super().finish(run, final, told):
            run.close("adapter.gave_up")
        return run.status is not None


class LeavesTheRunOpen(PlainHarness):
    """A step limit is no end for it."""

    def leave(self, run: Run) -> None:
        run.suspend()


class GoesOnAfterTheEnd(PlainHarness):
    """It does not look whether the run has ended."""

    def take(self, run: Run, tools: Mapping[str, Callable[..., Any]], turn: Turn, told: Transcript) -> bool:
        super().take(run, tools, turn, told)
        return True


class SwapsParallelResults(PlainHarness):
    def take(self, run: Run, tools: Mapping[str, Callable[..., Any]], turn: Turn, told: Transcript) -> bool:
        if len(turn.calls) == 2 and turn.calls[0].args != turn.calls[1].args:
            one, two = turn.calls
            turn = Turn(
                calls=(Ask(id=two.id, tool=one.tool, args=one.args), Ask(id=one.id, tool=two.tool, args=two.args))
            )
        return super().take(run, tools, turn, told)


FAULTY = {
    RunsWhenTheGuardCrashes: "test_a_guard_that_crashes_means_that_the_tool_does_not_run",
    ForgetsTheId: "test_a_call_that_runs_is_recorded_with_its_id_arguments_and_whole_result",
    RunsItAnyway: "test_a_call_without_its_evidence_is_vetoed_and_the_model_is_told_why",
    RecordsTheVetoAsACall: "test_a_vetoed_call_is_never_recorded_as_run",
    HidesTheReason: "test_a_call_without_its_evidence_is_vetoed_and_the_model_is_told_why",
    IgnoresTheCut: "test_a_call_from_a_turn_that_was_cut_does_not_run",
    ShowsTheTextFirst: "test_a_final_text_that_is_not_supported_is_held_back_and_the_model_is_asked_again",
    BelievesTheLastWord: "test_a_final_text_that_is_not_supported_is_held_back_and_the_model_is_asked_again",
    HidesTheDeficits: "test_a_refused_last_word_tells_the_model_each_deficit_and_what_would_close_it",
    LooksOnlyAtTheText: "test_a_value_of_the_wrong_type_is_told_to_the_model_which_can_mend_it",
    ClosesAStuckRunByItself: "test_a_stuck_run_says_why_it_ended_and_takes_no_more_calls",
    LeavesTheRunOpen: "test_a_step_limit_ends_the_run_uncertified",
    GoesOnAfterTheEnd: "test_a_model_that_repeats_a_refused_call_is_ended_honestly",
    SwapsParallelResults: "test_parallel_calls_are_each_recorded_under_their_own_id",
}
"""Faulty loop → the row that catches it."""
