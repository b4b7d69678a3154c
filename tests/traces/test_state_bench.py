"""STATE-Bench: pairing is given, ids are minted, `now` comes from the task, and nothing else of it is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tallystick.traces import read, read_file
from tallystick.traces.state_bench import trace_of
from tests.traces.chat import codes


def test_all_recorded_trajectories_are_read_whole(shared: Path) -> None:
    folder = shared / "data" / "state-bench" / "trajectories"
    traces = list(read(folder))
    assert len(traces) == 200
    assert all(t.now and t.format == "state-bench" and not t.damage for t in traces)
    assert all(c.result is not None for t in traces for c in t.calls)
    assert sum(len(t.calls) for t in traces) == 1968
    assert traces == list(read(folder))


def test_only_now_is_read_of_the_task(tmp_path: Path) -> None:
    for name in ("trajectories", "tasks"):
        (tmp_path / name / "d").mkdir(parents=True)
    path = tmp_path / "trajectories" / "d" / "1.json"
    path.write_text('{"conversation": [{"role": "user", "content": "x"}]}')
    task = {"state_requirements": [{"now": "1999"}], "now": "2026-06-15T10:00:00", "user_simulator": {"now": 1}}
    (tmp_path / "tasks" / "d" / "1.json").write_text(json.dumps(task))
    (trace,) = read_file(path)
    assert trace.now == "2026-06-15T10:00:00"
    assert trace.meta == {}
    (tmp_path / "tasks" / "d" / "1.json").write_text("broken")
    (trace,) = read_file(path)
    assert trace.now is None


def test_what_a_call_lacks_is_recorded() -> None:
    calls: list[Any] = [{"name": "a", "arguments": {}}, {"name": "b", "arguments": "x", "result": 1}, {"arguments": {}}]
    conversation = [{"role": "assistant", "content": None, "tool_calls": calls}, {"content": "no role"}]
    trace = trace_of({"conversation": conversation}, name="t", source="", sha256="")
    assert codes(trace) == ["args.unparseable", "call.unreadable", "message.unreadable"]
    assert [(c.id, c.result and c.result.body) for c in trace.calls] == [("m0.c0", None), ("m0.c1", 1)]
