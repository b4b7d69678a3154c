"""Offline audit of the recorded trajectories: our rate beside a hand-written floor (and invariant-ai, if installed).

    python benchmarks/audit.py [DIR] [--rounds N] [--json]

DIR holds `trajectories/` (default `../shared/data/state-bench`). Bytes are read once; each round then parses and judges
all of them, the candidates taking turns, so that noise of the machine hits all alike. Times are CPU time of one core;
the best round counts. `two processes` is wall-clock time of `--jobs 2` over the files, beside `--jobs 1`.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from tallystick.audit.rules import ALWAYS, OF_WRITES
from tallystick.audit.run import audit_bytes, audit_paths
from tallystick.audit.tools import Tools

READS = ("get", "search", "check", "validate", "find", "list")


def floor(raw: bytes) -> int:
    """Ten rules written by hand for exactly this format: no import, no exact numbers, no sentences, no guesses."""
    found = 0
    index: dict[tuple[str, str], list[tuple[int, dict[str, Any], Any, int]]] = {}
    said: list[str] = []
    unanswered = last_failed = 0
    final = ""
    turn = 0
    for n, message in enumerate(msgspec.json.decode(raw)["conversation"]):
        if message["role"] == "user":
            turn += 1
        if message["role"] != "assistant":
            said.append(message["content"])
            continue
        for call in message.get("tool_calls") or ():
            args, result, name = call["arguments"], call.get("result"), call["name"]
            if result is None:
                unanswered += 1
            if name.startswith(READS):
                said.append(str(result))
                continue
            failed = type(result) is dict and ("error" in result or result.get("status") == "rejected")
            last_failed = n if failed else 0
            index.setdefault((name, repr(args)), []).append((n, args, result, turn))
        final = message["content"]
    text = "\n".join(said)
    shown: set[tuple[str, int]] = set()
    for (name, _), calls in index.items():
        n, args, result, turn = calls[-1]
        status = result.get("status") if type(result) is dict else None
        found += len(calls) > 1 and status == "rejected"
        found += len(calls) > 1 and status not in ("rejected", "preview", None)
        found += args.get("confirm") is True and (name, turn) in shown
        found += args.get("confirm") is False and status not in ("rejected", "preview", None)
        if status == "preview":
            shown.add((name, turn))
        for key, value in args.items():
            if (key.endswith("_id") and value and value not in text) or (
                key == "amount" and value and str(value) not in text
            ):
                found += 1
    found += unanswered > 0
    found += last_failed > 0 and "done" in final.lower()
    found += "should have" in final
    found += not index and "I've" in final
    return found


def ours(raw: bytes, tools: Tools) -> int:
    return sum(len(report.findings) for report in audit_bytes(raw, "t", tools=tools))


def invariant() -> Callable[[bytes], int] | None:
    try:
        from invariant.analyzer import LocalPolicy  # type: ignore[import-not-found]
    except ImportError:
        return None
    policy = LocalPolicy.from_string(
        'raise "committed after a preview in one go" if:\n'
        "    (a: ToolCall) -> (b: ToolCall)\n"
        "    a.function.arguments.confirm == False\n"
        "    b.function.arguments.confirm == True\n"
        "    a.function.name == b.function.name\n"
    )

    def judge(raw: bytes) -> int:
        trace: list[dict[str, Any]] = []
        for message in json.loads(raw)["conversation"]:
            calls = message.get("tool_calls") or []
            shaped = [
                {"id": f"c{len(trace)}.{i}", "type": "function",
                 "function": {"name": c["name"], "arguments": c["arguments"]}}
                for i, c in enumerate(calls)
            ]  # fmt: skip
            trace.append({"role": message["role"], "content": message["content"], "tool_calls": shaped})
            trace.extend(
                {"role": "tool", "tool_call_id": s["id"], "content": json.dumps(c.get("result"))}
                for s, c in zip(shaped, calls, strict=True)
            )
        return len(policy.analyze(trace).errors)

    return judge


def rate(run: Callable[[bytes], int], data: list[bytes]) -> float:
    started = time.process_time()
    for raw in data:
        run(raw)
    return len(data) / (time.process_time() - started)


def folder_seconds(folder: Path, jobs: int) -> float:
    started = time.perf_counter()
    for _ in audit_paths([folder], jobs=jobs):
        pass
    return time.perf_counter() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    default = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "state-bench"
    parser.add_argument("dir", nargs="?", type=Path, default=default)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    files = sorted((options.dir / "trajectories").glob("*/*.json"))
    if not files:
        print(f"error: {options.dir}: no trajectories", file=sys.stderr)
        return 2
    data = [f.read_bytes() for f in files]
    tools = Tools()
    candidates: dict[str, Callable[[bytes], int]] = {"floor": floor, "tallystick": lambda raw: ours(raw, tools)}
    best = dict.fromkeys(candidates, 0.0)
    gc.collect()
    for _ in range(options.rounds):
        for name, run in candidates.items():
            best[name] = max(best[name], rate(run, data))
    other = invariant()
    if other is not None:
        best["invariant-ai"] = rate(other, data[:20])
    scale = 20
    many = _copies(options.dir, scale)
    one = min(folder_seconds(many, 1) for _ in range(2))
    two = min(folder_seconds(many, 2) for _ in range(2))
    result = {
        "trajectories": len(data),
        "rules": len(ALWAYS) + len(OF_WRITES),
        "per_second": {k: round(v) for k, v in best.items()},
        "of_floor": round(best["tallystick"] / best["floor"], 3),
        "times_invariant": round(best["tallystick"] / best["invariant-ai"], 1) if other else None,
        "two_processes": {"files": len(data) * scale, "seconds_1": round(one, 2), "seconds_2": round(two, 2),
                          "speedup": round(one / two, 2)},
    }  # fmt: skip
    if options.json:
        print(json.dumps(result))
        return 0
    print(f"{'candidate':24}{'trajectories/s':>16}{'of the floor':>14}")
    for name, value in best.items():
        print(f"{name:24}{value:16,.0f}{value / best['floor']:13.0%}")
    print(f"{result['rules']} rules; reach: 7,000/s" + ("; invariant-ai is not installed" if other is None else ""))
    print(f"two processes: {one:.2f} s -> {two:.2f} s over {len(data) * scale:,} files, {one / two:.2f} times")
    return 0


def _copies(folder: Path, scale: int) -> Path:
    """Return a temporary folder with the trajectories several times over: starting processes must not be the cost."""
    import atexit
    import shutil
    import tempfile

    made = Path(tempfile.mkdtemp(prefix="tallystick-audit-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    for n in range(scale):
        for file in (folder / "trajectories").glob("*/*.json"):
            target = made / f"{n:02}" / file.parent.name
            target.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target / file.name)
    return made


if __name__ == "__main__":
    sys.exit(main())
