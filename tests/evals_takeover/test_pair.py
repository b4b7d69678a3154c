"""A cheap and a strong agent: prefixes are captured once and done again alike; models play through the same loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tallystick.evals.lifecycle.suite.asking import Deployment
from tallystick.evals.lifecycle.suite.kept import Called, Raw
from tallystick.evals.takeover.costs import Price, Prices
from tallystick.evals.takeover.invoice import InvoiceDesk
from tallystick.evals.takeover.kept import ROWS
from tallystick.evals.takeover.methods import METHODS, captured, prefix_of, start_of
from tallystick.evals.takeover.models import Unanswered
from tallystick.evals.takeover.pair import ModelCast, PairPlan, ScriptedCast, played, report
from tallystick.evals.takeover.run import Plan, run
from tallystick.evals.takeover.tables import text
from tallystick.model import jsontext
from tallystick.models.endpoint import ChatEndpoint

PLAN = PairPlan(episodes=6, seed="tests")
PRICES = Prices(date="2026-12-01", models={"played": Price(input=Decimal(1), output=Decimal(4))})


class Played(Deployment):
    """A deployment whose model is played by a test: it looks, pays, sends and says done, whoever asks."""

    def ask(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], seed: int, extra: Any = None
    ) -> Raw:
        """Answer with the next call of the plan that what was said so far leaves."""
        del extra, seed
        said = jsontext.dumps(list(messages))
        invoice = next(
            n for n in ("I-2", "I-3", "I-5", "I-7", "I-8") if f"invoice {n}" in said or f"invoices {n}" in said
        )
        names = {t["name"] for t in tools}
        results = [
            jsontext.loads(m["content"]) for m in messages if m["role"] == "tool" and m["content"].startswith("{")
        ]
        told = {k: v for r in results if isinstance(r, dict) for k, v in r.items()}
        made = [c["function"]["name"] for m in messages for c in m.get("tool_calls", ())]
        about = {"invoice_id": invoice}
        steps: list[tuple[str, dict[str, Any]]] = [
            ("get_invoice", about),
            ("pay_invoice", {**about, "amount": told.get("amount_due", "0")}),
            ("payments", about),
            ("send_receipt", {**about, "file": _file(told)}),
            ("payments", about),
            ("finish", {"text": "done", "claims": {"amount_paid": told.get("total", "0")}}),
        ]
        left = [s for s in steps if s[0] in names]
        tool, args = left[min(len(made), len(left) - 1)]
        call = Called(tool=tool, raw=jsontext.dumps(args))
        return Raw(
            stimulus="", digest="", repetition=0, deployment=self.name, calls=(call,), tokens_in=100, tokens_out=10
        )


class Silent(Deployment):
    """Nobody answers."""

    def ask(self, messages: Any, tools: Any, seed: int, extra: Any = None) -> Raw:
        """Fail."""
        del messages, tools, extra
        return Raw(stimulus="", digest="", repetition=seed, deployment=self.name, failure="connection refused")


def _file(told: Mapping[str, Any]) -> str:
    booked = told.get("payments") or [{}]
    return str(told.get("receipt_file") or booked[0].get("receipt_file") or "none")


def _deployment(kind: type[Deployment]) -> Deployment:
    endpoint = ChatEndpoint(base_url="http://127.0.0.1:9/v1")
    return kind(name="played", asked="played", endpoint=endpoint, max_tokens=64)


def test_a_prefix_leads_to_the_same_state_whenever_it_is_done_again() -> None:
    """The record is the same but for its head."""
    cast = ScriptedCast(seed="tests")
    for episode in PLAN.tasks():
        prefix = prefix_of(episode, cast)
        frontier = captured(episode, prefix)
        states = []
        for _ in range(2):
            with frontier.open() as opened:
                states.append((opened.correct(), [(c.tool, dict(c.args)) for c in opened.run.view.calls.values()]))
        assert states[0] == states[1]
        assert states[0][0] == prefix.correct


def test_a_task_starts_with_nothing_done_and_its_own_gold() -> None:
    """Also where the frontier it was drawn for is half done."""
    for frontier in InvoiceDesk().frontiers(10, "tests"):
        gold = start_of(frontier).gold
        assert not gold.done
        assert {w.tool for w in gold.owed} == {"pay_invoice", "send_receipt"}


def test_scripts_play_every_method_and_cost_nothing(tmp_path: Path) -> None:
    """Labelled, without tokens, and resumed from the folder."""
    cast = ScriptedCast(seed="tests")
    rows = played(PLAN, cast, tmp_path / "pair")
    assert {r.stage for r in rows} == {*METHODS}
    size = (tmp_path / "pair" / ROWS).stat().st_size
    again = played(PLAN, cast, tmp_path / "pair")
    assert again == rows
    assert (tmp_path / "pair" / ROWS).stat().st_size == size
    told = report(rows, cast, PLAN, PRICES)
    assert told["full"]["writes_under_rejected"] == 0
    assert told["full"]["tokens"] == 0
    assert told["methods"]["strong_full"]["cost_percent"] is None
    assert {"cascade (FrugalGPT-style)", "router (RouteLLM-style)", "stepwise (StepWise-style)"} <= set(told["methods"])
    assert "scripts with stated mistakes" in text(told)


def test_a_model_plays_prefix_and_successor_and_its_requests_are_booked() -> None:
    """The strong anchor costs 100%; the prefix and the residual are apart."""
    cast = ModelCast(cheap=_deployment(Played), strong=_deployment(Played))
    plan = PairPlan(episodes=3, seed="tests", methods=("full", "strong_full"))
    told = report(played(plan, cast), cast, plan, PRICES)
    assert told["methods"]["strong_full"]["cost_percent"] == 100
    assert told["methods"]["full"]["cost"]["tokens"]["prefix"]["input"] > 0
    assert not told["scripted"]
    assert told["methods"]["strong_full"]["requests"] > 0


def test_a_model_finishes_a_frontier_of_the_desk_in_every_stage() -> None:
    """On the replica it acts as it would live; what worked there is its proposal, bound to live receipts."""
    ran = run(
        Plan(episodes=4, seed="tests", successors=()), InvoiceDesk(), models=[_deployment(Played)],
    )  # fmt: skip
    full = [r for r in ran.rows if r.stage == "full" and r.engaged and r.kind in ("paid", "confirmed", "lost")]
    assert full
    assert all(r.tokens > 0 and r.usages and not r.scripted for r in full)
    assert any(r.complete and r.correct for r in full)


def test_an_endpoint_that_does_not_answer_stops_the_run_and_keeps_what_is_through(tmp_path: Path) -> None:
    """No failed request becomes an episode."""
    cast = ModelCast(cheap=_deployment(Silent), strong=_deployment(Silent))
    with pytest.raises(Unanswered, match="connection refused"):
        played(PairPlan(episodes=1, seed="tests"), cast, tmp_path / "pair")
    assert not (tmp_path / "pair" / ROWS).exists()
