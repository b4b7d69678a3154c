"""The rows of the suite. Each was broken by at least one framework or adapter that was looked at."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

from tallystick.runtime.guard import Guard
from tallystick.runtime.run import Run
from tallystick.testing.conformance.port import Ask, Feature, Harness, Model, Seen, Transcript, Turn, scripted
from tallystick.testing.conformance.port import Final as LastWord
from tallystick.testing.conformance.world import CONTRACT, TASK, World

MAX_TURNS: Final = 12
LOOK: Final = {"book": "A"}
LEND: Final = {"book": "A", "days": 7}
DONE: Final = LastWord(text="Book A is lent for 7 days.", claims={"days": 7})


class AdapterConformance:
    """Subclass it in a test file and give it a fixture `harness`."""

    # ------------------------------------------------------------------ calls

    def test_a_call_without_its_evidence_is_vetoed_and_the_model_is_told_why(self, harness: Harness) -> None:
        """Veto: the tool does not run; code and remedy reach the model in the place of a result."""
        bench = Bench(harness)
        told = bench.drive(scripted(_calls(Ask(id="a1", tool="lend", args=LEND))))
        assert bench.world.ran == []
        (seen,) = [s for s in told.seen if s.id == "a1"]
        assert "evidence.missing" in seen.text
        assert "look" in seen.text

    def test_a_vetoed_call_is_never_recorded_as_run(self, harness: Harness) -> None:
        """There is a refusal with the call's id, and neither intent nor receipt."""
        bench = Bench(harness)
        bench.drive(scripted(_calls(Ask(id="a1", tool="lend", args=LEND))))
        assert bench.kinds().count("refusal") == 1
        assert "intent" not in bench.kinds()
        assert "receipt" not in bench.kinds()
        assert bench.bodies("refusal")[0].native_id == "a1"

    def test_a_call_that_runs_is_recorded_with_its_id_arguments_and_whole_result(self, harness: Harness) -> None:
        """Record: the intent before the tool, the receipt after it."""
        bench = Bench(harness)
        told = bench.drive(scripted(_calls(Ask(id="a1", tool="look", args=LOOK))))
        assert bench.world.count("look") == 1
        (intent,), (receipt,) = bench.bodies("intent"), bench.bodies("receipt")
        assert intent.native_id == "a1"
        assert json.loads(intent.args.raw) == LOOK
        assert receipt.call == intent.call
        assert json.loads(receipt.result.raw) == {"id": "A", "state": "free"}
        assert receipt.outcome == "ok"
        assert any(s.id == "a1" and "free" in s.text for s in told.seen)

    def test_after_a_refusal_the_model_can_get_the_evidence_and_go_on(self, harness: Harness) -> None:
        """Resume after a refusal: the refused call is no dead end."""
        bench = Bench(harness)
        bench.drive(_lending())
        assert bench.world.ran == [("look", LOOK), ("lend", LEND)]
        assert bench.run.status == "CERTIFIED"

    def test_the_same_effect_again_is_handed_back_and_not_run(self, harness: Harness) -> None:
        """A second wish under a new call id is the same effect; the model gets the recorded result."""
        bench = Bench(harness)
        told = bench.drive(
            scripted(
                _calls(Ask(id="a1", tool="look", args=LOOK)),
                _calls(Ask(id="a2", tool="lend", args=LEND)),
                _calls(Ask(id="a3", tool="lend", args=LEND)),
            )
        )
        assert bench.world.count("lend") == 1
        assert any(s.id == "a3" and "lent" in s.text for s in told.seen)

    def test_a_write_that_raises_is_in_doubt_and_not_repeated(self, harness: Harness) -> None:
        """An error from a write is no proof that nothing happened."""
        bench = Bench(harness)
        bench.world.broken = True
        bench.drive(
            scripted(
                _calls(Ask(id="a1", tool="look", args=LOOK)),
                _calls(Ask(id="a2", tool="lend", args=LEND)),
                _calls(Ask(id="a3", tool="lend", args=LEND)),
                Turn(final=DONE),
            )
        )
        assert bench.world.count("lend") == 1
        assert bench.run.status == "IN_DOUBT"

    # ------------------------------------------------------------------ our own faults

    def test_a_gate_that_crashes_means_that_the_tool_does_not_run(self, harness: Harness) -> None:
        """Fail closed: an exception in the gate is a refusal."""
        bench = Bench(harness)
        with _broken_gate():
            bench.drive(scripted(_calls(Ask(id="a1", tool="look", args=LOOK))))
        assert bench.world.ran == []
        assert "intent" not in bench.kinds()

    def test_a_guard_that_crashes_means_that_the_tool_does_not_run(self, harness: Harness) -> None:
        """Fail closed: so is an exception in the guard itself, whatever the adapter calls."""
        bench = Bench(harness)

        def broken(*_: object, **__: object) -> Any:
            raise RuntimeError("planted")

        for name in ("call", "acall", "steps"):
            setattr(bench.run, name, broken)
        bench.drive(scripted(_calls(Ask(id="a1", tool="look", args=LOOK))))
        assert bench.world.ran == []
        assert "intent" not in bench.kinds()

    # ------------------------------------------------------------------ parallel calls, streams, cut turns

    def test_parallel_calls_are_each_recorded_under_their_own_id(self, harness: Harness) -> None:
        """Results do not change places."""
        bench = Bench(harness, needs="parallel")
        both = (Ask(id="a1", tool="look", args={"book": "A"}), Ask(id="a2", tool="look", args={"book": "B"}))
        bench.drive(scripted(Turn(calls=both)))
        recorded = {
            bench.run.view.calls[r.call].native_id: json.loads(r.result.raw)["id"] for r in bench.bodies("receipt")
        }
        assert recorded == {"a1": "A", "a2": "B"}

    def test_of_two_identical_parallel_writes_one_runs(self, harness: Harness) -> None:
        """Deciding and recording the intent is one step, also across parallel calls."""
        bench = Bench(harness, needs="parallel")
        both = (Ask(id="a2", tool="lend", args=LEND), Ask(id="a3", tool="lend", args=LEND))
        bench.drive(scripted(_calls(Ask(id="a1", tool="look", args=LOOK)), Turn(calls=both)))
        assert bench.world.count("lend") == 1

    def test_arguments_that_stream_in_fragments_are_judged_whole(self, harness: Harness) -> None:
        """What the gate sees and what runs are the same whole arguments."""
        bench = Bench(harness, needs="fragments")
        bench.drive(
            scripted(_calls(Ask(id="a1", tool="look", args=LOOK)), _calls(Ask(id="a2", tool="lend", args=LEND))),
            fragments=True,
        )
        assert bench.world.ran == [("look", LOOK), ("lend", LEND)]
        assert [json.loads(b.args.raw) for b in bench.bodies("intent")] == [LOOK, LEND]

    def test_a_call_from_a_turn_that_was_cut_does_not_run(self, harness: Harness) -> None:
        """The model did not finish saying it."""
        bench = Bench(harness, needs="cut")
        bench.drive(
            scripted(
                _calls(Ask(id="a1", tool="look", args=LOOK)),
                _calls(Ask(id="a2", tool="lend", args=LEND, cut=True)),
            )
        )
        assert bench.world.count("lend") == 0

    # ------------------------------------------------------------------ ends

    def test_a_final_text_that_is_not_supported_is_held_back_and_the_model_is_asked_again(
        self, harness: Harness
    ) -> None:
        """Refuse, then accept: feedback reaches the model, and only the accepted text reaches anybody."""
        early = LastWord(text="All done, I promise.", claims={})
        for fragments in (False, True) if "fragments" in harness.features else (False,):
            bench = Bench(harness)
            told = bench.drive(
                scripted(
                    Turn(final=early),
                    _calls(Ask(id="a1", tool="look", args=LOOK)),
                    _calls(Ask(id="a2", tool="lend", args=LEND)),
                    Turn(final=DONE),
                ),
                fragments=fragments,
            )
            assert bench.run.status == "CERTIFIED"
            assert any(s.id == "" and "obligation.open" in s.text for s in told.seen)
            if "holds_text" in harness.features:
                assert "".join(told.shown) == DONE.text

    def test_a_claim_the_record_contradicts_is_not_accepted(self, harness: Harness) -> None:
        """What the answer states is compared with the receipts."""
        bench = Bench(harness)
        wrong = LastWord(text="Book A is lent for 30 days.", claims={"days": 30})
        bench.drive(
            scripted(
                _calls(Ask(id="a1", tool="look", args=LOOK)),
                _calls(Ask(id="a2", tool="lend", args=LEND)),
                Turn(final=wrong),
                Turn(final=DONE),
            )
        )
        decisions = [json.loads(b.decision) for b in bench.bodies("stop.decided")]
        assert [d["verdict"] for d in decisions] == ["reject", "accept"]
        assert bench.run.status == "CERTIFIED"

    def test_a_refused_last_word_tells_the_model_each_deficit_and_what_would_close_it(self, harness: Harness) -> None:
        """CONTINUE: the slot or obligation, the code, and what is needed reach the model in words."""
        bench = Bench(harness)
        told = bench.drive(scripted(Turn(final=LastWord(text="All done, I promise.")), *_properly()))
        refused = "\n".join(s.text for s in told.seen if s.id == "")
        assert "obligation.open" in refused
        assert "CONTINUE" in refused
        assert "lent" in refused
        assert "days" in refused  # the slot
        assert "lend" in refused  # the call that would close both
        assert bench.run.status == "CERTIFIED"

    def test_a_value_of_the_wrong_type_is_told_to_the_model_which_can_mend_it(self, harness: Harness) -> None:
        """What is no value of the slot's type certifies nothing, breaks nothing, and is said with its slot."""
        vague = LastWord(text="Book A is lent for a while.", claims={"days": "a while"})
        bench = Bench(harness)
        told = bench.drive(scripted(*_properly()[:-1], Turn(final=vague), Turn(final=DONE)))
        assert any(s.id == "" and "days" in s.text for s in told.seen)
        assert bench.run.status == "CERTIFIED"

    def test_no_piece_of_a_text_that_is_not_accepted_is_shown_while_it_streams(self, harness: Harness) -> None:
        """Held until the verdict: of a wrong answer not one fragment reaches anybody."""
        wrong = LastWord(text="Book A is lent for 30 days.", claims={"days": 30})
        bench = Bench(harness, needs="fragments")
        told = bench.drive(scripted(*_properly()[:-1], Turn(final=wrong), Turn(final=DONE)), fragments=True)
        assert "30" not in "".join(told.shown)
        assert bench.run.status == "CERTIFIED"

    def test_a_stuck_run_says_why_it_ended_and_takes_no_more_calls(self, harness: Harness) -> None:
        """STUCK: the same last word again ends the run, and nothing runs after that."""
        bench = Bench(harness)
        early = Turn(final=LastWord(text="Done!"))
        bench.drive(scripted(*[early] * 4, *_properly()))
        assert bench.run.status == "UNCERTIFIED"
        ended = bench.run.view.ended
        assert ended is not None
        assert ended.reason.startswith("stuck.")
        assert bench.world.ran == []

    def test_a_step_limit_ends_the_run_uncertified(self, harness: Harness) -> None:
        """A framework that stops by itself has finished nothing."""
        bench = Bench(harness)
        numbers = iter(range(1_000))

        def looks_for_ever(_: Sequence[Seen]) -> Turn:
            n = next(numbers)
            return _calls(Ask(id=f"a{n}", tool="look", args={"book": f"X{n}"}))

        told = bench.drive(looks_for_ever, max_turns=4)
        assert told.turns <= 5
        assert bench.run.status == "UNCERTIFIED"

    def test_a_model_that_just_stops_is_uncertified(self, harness: Harness) -> None:
        """No last word, no certificate."""
        bench = Bench(harness, needs="stops")
        bench.drive(scripted(_calls(Ask(id="a1", tool="look", args=LOOK))))
        assert bench.run.status == "UNCERTIFIED"

    def test_a_model_that_repeats_a_refused_call_is_ended_honestly(self, harness: Harness) -> None:
        """Retry cap: the same proposal with nothing new in the record ends the run instead of looping."""
        bench = Bench(harness)
        numbers = iter(range(1_000))
        told = bench.drive(lambda _: _calls(Ask(id=f"a{next(numbers)}", tool="lend", args=LEND)))
        assert bench.world.ran == []
        assert bench.run.status == "UNCERTIFIED"
        assert told.turns <= bench.guard.limits.same + 1
        assert bench.kinds().count("refusal") == bench.guard.limits.same

    def test_a_model_that_repeats_a_refused_final_text_is_ended_honestly(self, harness: Harness) -> None:
        """Retry cap of the end: and the text is never shown as a success."""
        bench = Bench(harness)
        told = bench.drive(lambda _: Turn(final=LastWord(text="Done!")))
        assert bench.run.status == "UNCERTIFIED"
        assert told.turns <= bench.guard.limits.same + 1
        if "holds_text" in harness.features:
            assert told.shown == []


class Bench:
    """One run of the suite: a world, a guard, and what the ledger says afterwards.

    Args:
        harness: the adapter under test.
        needs: a feature without which the test says nothing; it is skipped, visibly.
    """

    def __init__(self, harness: Harness, *, needs: Feature | None = None) -> None:
        if needs is not None and needs not in harness.features:
            import pytest  # noqa: PLC0415 - only whoever runs the suite has it

            pytest.skip(f"the framework does not allow it: {needs}")
        self.harness = harness
        self.world = World()
        self.guard = Guard(CONTRACT)
        self.run: Run = self.guard.run(dict(TASK))

    def drive(self, model: Model, *, max_turns: int = MAX_TURNS, fragments: bool = False) -> Transcript:
        """Let the harness run the model, and return what happened."""
        return self.harness.drive(self.run, self.world.tools(), model, max_turns=max_turns, fragments=fragments)

    def kinds(self) -> list[str]:
        """Kinds of the run's events."""
        return [s.event.kind for s in self.guard.store.events(self.run.id)]

    def bodies(self, kind: str) -> list[Any]:
        """Bodies of the run's events of one kind."""
        return [s.event.body for s in self.guard.store.events(self.run.id) if s.event.kind == kind]


def _calls(*asks: Ask) -> Turn:
    return Turn(calls=asks)


def _properly() -> tuple[Turn, ...]:
    """Look, lend, and say so."""
    return (
        _calls(Ask(id="p1", tool="look", args=LOOK)),
        _calls(Ask(id="p2", tool="lend", args=LEND)),
        Turn(final=DONE),
    )


def _lending() -> Model:
    """Too early, then properly."""
    return scripted(
        _calls(Ask(id="a1", tool="lend", args=LEND)),
        _calls(Ask(id="a2", tool="look", args=LOOK)),
        _calls(Ask(id="a3", tool="lend", args=LEND)),
        Turn(final=DONE),
    )


@contextmanager
def _broken_gate() -> Iterator[None]:
    def broken(*_: object) -> Any:
        raise ZeroDivisionError("planted")

    with patch("tallystick.runtime.calls.may_act", broken):
        yield
