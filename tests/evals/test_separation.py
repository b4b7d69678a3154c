"""The agent's side cannot reach a private specification: not over the wire, not in its memory, not in its modules."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tallystick.evals.evidence.case import Case
from tallystick.evals.evidence.isolated import play
from tallystick.evals.evidence.paths import strings
from tallystick.evals.evidence.room import MAX_CALLS, Room
from tallystick.evals.evidence.run import read_episodes
from tallystick.evals.evidence.serve import Server

HARNESS = """
import gc, json, sys
from tallystick.evals.evidence.client import connect
with connect(sys.argv[1]) as environment:
    session = environment.open("commerce-v0-001", agent="curious")
    said = [session._ask(m) for m in (
        {"op": "private"}, {"op": "open", "case": "../manifest.json"}, {"op": "task", "private": True}, {"op": "score"},
        {"op": "call", "tool": "__class__", "args": {}}, {"op": "call", "tool": "get_order", "args": {"order_id": {}}},
    )]
    names = {type(o).__name__ for o in gc.get_objects()}
    modules = sorted(m for m in sys.modules if m.startswith("tallystick.evals"))
    environment.close()
print(json.dumps({"task": session.task, "said": said, "modules": modules,
                  "private": sorted(names & {"Private", "Evidence", "Case", "Records", "Desk", "Room", "Cast"})}))
"""


@pytest.fixture(scope="module")
def curious(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a harness in a process of its own can find out."""
    folder = tmp_path_factory.mktemp("curious")
    done = subprocess.run(
        [sys.executable, "-c", HARNESS, str(folder / "out.jsonl")], capture_output=True, text=True, check=True
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_no_private_object_and_no_module_that_makes_one_is_in_the_agents_process(curious: dict[str, Any]) -> None:
    """The harness's process holds the client and nothing of the suite."""
    assert curious["private"] == []
    assert curious["modules"] == [
        "tallystick.evals", "tallystick.evals.evidence", "tallystick.evals.evidence.client",
    ]  # fmt: skip


def test_whatever_is_asked_no_answer_holds_anything_private(curious: dict[str, Any], by_id: dict[str, Case]) -> None:
    """Answers are the public part or tool results; the label, the evidence and the look-alikes are in none."""
    private = by_id["commerce-v0-001"].private
    secret = {e.entity for e in private.evidence if e.kind not in {"request", "policy"}}
    secret |= {other for others in private.lookalikes.values() for other in others}
    shown = set(strings([curious["task"], curious["said"]]))
    assert not any(s in text for s in secret for text in shown)
    assert curious["task"].keys() == {"text", "tools", "supplied", "candidate"}
    assert all("error" in said or "error" in said.get("result", {}) or "task" in said for said in curious["said"])


PROGRAM = """
import json, os, sys
def ask(message):
    print(json.dumps(message), flush=True)
    return json.loads(sys.stdin.readline())
task = ask({"op": "task"})["task"]
try:
    import tallystick
    reach = "imported"
except ImportError:
    reach = "none"
note = json.dumps({"reach": reach, "environment": sorted(os.environ), "files": os.listdir("."), "argv": sys.argv[1:]})
ask({"op": "private"})
ask({"op": "call", "tool": "submit", "args": {"label": "DEFER", "note": note}})
"""


def test_a_program_is_started_with_two_pipes_and_an_empty_folder(tmp_path: Path, by_id: dict[str, Case]) -> None:
    """No path, variable, argument or file of the suite is given to it; in isolated mode the package is not there."""
    program = tmp_path / "agent.py"
    program.write_text(PROGRAM, encoding="utf-8")
    base = str(Path(sys.base_prefix) / "bin" / "python3")
    episode = play([base if Path(base).exists() else sys.executable, "-I", "-S", str(program)],
                   by_id["commerce-v0-001"], "program")  # fmt: skip
    told = json.loads(episode.note)
    assert episode.label == "DEFER"
    assert told["reach"] == "none"
    assert told["files"] == []
    assert set(told["environment"]) <= {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT"}
    assert told["argv"] == []


def test_a_program_that_hangs_is_ended(by_id: dict[str, Case]) -> None:
    """The budget ends it, and the episode says so."""
    episode = play([sys.executable, "-c", "import time; time.sleep(60)"], by_id["commerce-v1-001"], "slow", budget=0.5)
    assert (episode.end, episode.label) == ("limit", "")


def test_ids_cannot_be_known_before_they_are_returned(by_id: dict[str, Case]) -> None:
    """Two runs of one case mint different ids for the same action."""
    from tallystick.evals.evidence.paths import reference
    from tallystick.evals.evidence.scripted import follow

    case = by_id["commerce-v2-001"]
    made = set()
    for _ in range(2):
        room = Room(case, "scripted:path")
        follow(reference(case), room)
        made |= {v for c in room.episode().calls for k, v in c.result.items() if k == case.private.actions[0].makes}
    assert len(made) == 2


def test_the_environment_keeps_the_record_whatever_the_agent_does(tmp_path: Path) -> None:
    """Garbage, calls after the end, other labels and too many calls are answered, recorded, and do no harm."""
    kept: list[Any] = []
    now = [0.0]
    server = Server(kept.append, budget=10, clock=lambda: now[0])
    assert "error" in server.answer('{"op": "task"}\n')
    assert "task" in server.answer('{"op": "open", "case": "commerce-v1-001"}\n')
    for line in ("x\n", "[]\n", '{"op": 7}\n', '{"op": "call", "tool": "submit", "args": []}\n', '{"a":1,"a":2}\n'):
        assert "error" in server.answer(line)
    assert "error" in server.answer('{"op":"call","tool":"submit","args":{"label":"PERHAPS"}}\n')["result"]
    for _ in range(MAX_CALLS):
        server.answer('{"op":"call","tool":"get_request","args":{"request_id":"SR-1"}}\n')
    assert server.answer('{"op":"call","tool":"get_request","args":{}}\n')["over"] is True
    server.answer('{"op": "open", "case": "commerce-v1-002"}\n')
    now[0] = 11.0
    assert server.answer('{"op":"call","tool":"submit","args":{"label":"DONE"}}\n')["over"] is True
    server.answer('{"op": "open", "case": "commerce-v1-003"}\n')
    server.answer('{"op": "infrastructure", "note": "model endpoint down"}\n')
    server.answer('{"op": "close"}\n')
    assert [(e.end, e.label) for e in kept] == [("limit", ""), ("limit", ""), ("infrastructure", "")]
    assert len(kept[0].calls) == MAX_CALLS
    path = tmp_path / "bad.jsonl"
    path.write_text("{}\n", encoding="utf-8")
    with pytest.raises(Exception, match="not an episode"):
        read_episodes(path)
