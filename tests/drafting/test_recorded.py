"""The recorded trajectories: drafts and mined contracts are accepted, no answer key is read, each is counted once."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tallystick import contracts
from tallystick.drafting import chosen, draft, mine, read_labels, read_sources
from tallystick.traces import read

DOMAINS = ("customer_support", "shopping_assistant", "travel")
pytestmark = pytest.mark.shared


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_tool_lists_are_drafted_into_contracts_that_check_accepts(
    shared: Path, tmp_path: Path, domain: str
) -> None:
    """Unedited, with the writes that the list names, and the two-step tools as previews."""
    source = shared / "data" / "state-bench" / f"tools-{domain}.json"
    file = tmp_path / "c.yaml"
    file.write_text(draft([source]).text)
    assert contracts.check(file) == []
    stated = set(json.loads(source.read_bytes())["write_tools"])
    made = contracts.load(file).tools
    assert {n for n, t in made.items() if t.effect != "read"} == stated
    two_step = {
        t["name"] for t in json.loads(source.read_bytes())["tools"] if "confirm" in t["parameters"]["properties"]
    }
    assert {n for n, t in made.items() if t.effect_cases} == two_step


@pytest.mark.parametrize("domain", DOMAINS)
def test_what_is_mined_admits_the_good_trajectories_and_reads_no_answer_key(
    shared: Path, tmp_path: Path, domain: str
) -> None:
    """Mined from copies with no tasks, databases or gold beside them, the same contract comes out."""
    data = shared / "data" / "state-bench"
    labels = read_labels(data / "labels.jsonl")
    specs = read_sources([data / f"tools-{domain}.json"])[1]
    mined = mine(chosen(list(read(data / "trajectories" / domain)), labels, None), specs=specs, name=domain)
    assert mined.report["effects_admitted"]["counter_examples"]["calls"] == 0
    assert contracts.parse(mined.text).sha256 == mined.contract.sha256
    alone = tmp_path / domain
    shutil.copytree(data / "trajectories" / domain, alone)
    again = mine(chosen(list(read(alone)), labels, None), specs=specs, name=domain)
    assert again.text == mined.text


def test_the_benchmark_counts_each_trajectory_once(shared: Path, root: Path) -> None:
    """Every trajectory is judged in exactly one fold, and families never straddle folds."""
    script = root / "benchmarks" / "mining.py"
    run = subprocess.run(
        [sys.executable, str(script), str(shared / "data" / "state-bench"), "--json"],
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    result = json.loads(run.stdout)
    assert (result["all"]["failing"], result["all"]["passing"]) == (36, 164)
    for side, of in (("failing", 36), ("passing", 164)):
        both = result["all"][f"{side}.both"]
        assert max(result["all"][f"{side}.audit"], result["all"][f"{side}.contract"]) <= both <= of
    assert result["all"]["passing.contract"] <= 0.06 * 164
    sys.path.insert(0, str(script.parent))
    try:
        import mining
    finally:
        sys.path.pop(0)
    variants = (
        "112-strategy_medical_domestic_change",
        "7-challenge_strategy_medical_state",
        "9-hard_strategy_medical_x",
    )
    assert {mining.family_of(name) for name in variants} == {"strategy_medical"}
    for domain in DOMAINS:
        names = sorted(p.stem for p in (shared / "data" / "state-bench" / "trajectories" / domain).glob("*.json"))
        fold = mining.folds_of(names)
        assert sorted(fold) == names
        assert all(fold[a] == fold[b] for a in names for b in names if mining.family_of(a) == mining.family_of(b))
