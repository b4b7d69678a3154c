"""The contracts for the three STATE-Bench domains, on conversations recorded there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tallystick import contracts
from tallystick.audit import Report, audit_paths

DOMAINS = ("travel", "customer_support", "shopping_assistant")


def contract_file(root: Path, domain: str) -> Path:
    return root / "examples" / "state-bench" / f"{domain}.yaml"


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_contract_has_no_problem_and_names_every_tool(root: Path, domain: str) -> None:
    file = contract_file(root, domain)
    assert contracts.check(file) == []
    assert contracts.load(file).closed


@pytest.mark.shared
@pytest.mark.parametrize("domain", DOMAINS)
def test_every_tool_and_argument_of_the_contract_is_in_the_tools_own_schemas(
    root: Path, shared: Path, domain: str
) -> None:
    """A contract names what its tools have, and says of each whether it writes as its schema file does."""
    stated = json.loads((shared / "data" / "state-bench" / f"tools-{domain}.json").read_text("utf-8"))
    tools = {tool["name"]: tool["parameters"]["properties"] for tool in stated["tools"]}
    contract = contracts.load(contract_file(root, domain))
    assert contract.tools.keys() == tools.keys()
    for name, tool in contract.tools.items():
        assert tool.args.keys() <= tools[name].keys(), name
        writes = tool.effect != "read" or bool(tool.effect_cases)
        assert writes == (name in stated["write_tools"]), name


def audited(root: Path, shared: Path, domain: str, name: str) -> Report:
    """Return the report on the conversation whose name begins with `name`."""
    folder = shared / "data" / "state-bench" / "trajectories" / domain
    (path,) = folder.glob(f"{name}-*.json")
    (report,) = audit_paths([path], format="state-bench", contract=contract_file(root, domain))
    return report


def blamed(report: Report) -> set[str]:
    """Return the ids of requirements, exclusions and duties that its errors name."""
    return {
        name.partition(".")[0] if name[-1:].isdigit() else name
        for finding in report.findings
        if finding.severity == "error" and finding.code.startswith(("act.", "duty."))
        for name in finding.evidence
    }


@pytest.mark.shared
@pytest.mark.parametrize(
    ("domain", "name", "rule"),
    [
        ("customer_support", "28", "one-remedy-per-item"),  # replaced under warranty, and refunded as well
        ("customer_support", "85", "below-claim"),  # a lost $1,299 parcel needs the carrier's claim first
        ("customer_support", "121", "shipping-refund"),  # the wrong item came back; its shipping was never refunded
        ("travel", "18", "airline-change"),  # "they said it is free" is no schedule change
        ("travel", "40", "new-flight-read"),  # changed to a flight nobody looked up
        ("travel", "5", "cheapest-compared"),  # the cheapest way was asked for, and one way priced
        ("shopping_assistant", "21", "product-chosen"),  # added before the customer saw which
        ("shopping_assistant", "79", "shipping-after-updating"),  # shipping chosen for another cart
        ("shopping_assistant", "99", "points-named"),  # 70,000 points nobody had named
    ],
)
def test_a_failed_conversation_is_flagged_for_its_reason(
    root: Path, shared: Path, domain: str, name: str, rule: str
) -> None:
    assert rule in blamed(audited(root, shared, domain, name))


@pytest.mark.shared
@pytest.mark.parametrize(
    ("domain", "name"),
    [
        ("travel", "133"),  # "compare and do the cheaper one" leaves the choice, both being priced, to the agent
        ("travel", "140"),  # "anything owed on my card" accepts the fee
        ("customer_support", "17"),  # the difference of two prices on record is a known amount
        ("customer_support", "45"),  # "the book" is the item of the category books
        ("shopping_assistant", "65"),  # the wrong shipping was set and then overwritten as the customer chose
        ("shopping_assistant", "83"),  # points redeemed unasked, and put back
    ],
)
def test_a_good_conversation_that_looks_like_a_bad_one_is_not_flagged(
    root: Path, shared: Path, domain: str, name: str
) -> None:
    report = audited(root, shared, domain, name)
    assert blamed(report) == set()
    assert not report.flagged


def run(root: Path, script: str, *options: str) -> Any:
    command = [sys.executable, str(root / "benchmarks" / script), *options, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    return json.loads(done.stdout)


@pytest.mark.shared
def test_most_failures_and_few_successes_are_flagged_on_all_200(root: Path, shared: Path) -> None:
    """What the project must reach: no less than 60% of the failing and no more than 8% of the passing ones."""
    folder = str(shared / "data" / "state-bench")
    result = run(root, "state_bench.py", folder, "--contracts", "examples/state-bench", "--by-rule", "--cross-validate")
    assert (result["failing"], result["passing"]) == (36, 164)
    assert result["failing_flagged"] >= 0.6 * 36
    assert result["passing_flagged"] <= 0.08 * 164
    folds = result["cross_validated"]["folds"]
    assert sum(row["all"]["failing"] for row in folds) == 36
    assert sum(row["all"]["passing_flagged"] for row in folds) == result["passing_flagged"]
    earned = result["cross_validated"]["earned"]
    assert earned["failing_flagged"] <= result["failing_flagged"]
    assert {row["rule"] for row in result["by_rule"]} > {"act.refuse one-remedy-per-item", "duty.open shipping-refund"}


@pytest.mark.shared
def test_seeded_faults_are_caught_and_the_same_seed_gives_the_same_mutants(root: Path, shared: Path) -> None:
    folder = str(shared / "data" / "state-bench")
    result = run(root, "seeded_faults.py", folder, "--contracts", "examples/state-bench")
    again = run(root, "seeded_faults.py", folder, "--contracts", "examples/state-bench")
    assert result == again
    assert result["mutants"] >= 500
    assert all(row["share"] >= 0.75 for row in result["kinds"].values())
    assert result["untouched"]["share"] <= 0.08
