"""AgentDojo's four suites through the guard: what honest work still runs, and what of an injection does not.

    python benchmarks/agentdojo.py [--suite NAME] [--json]

Needs the `agentdojo` package in an environment of its own (requirements/agentdojo-constraints.txt); nothing is
downloaded when it runs, and no model is asked. Three agents, all scripted:

- *honest*: makes the calls of each user task's ground truth, in order, and nothing else;
- *follower, unguarded* and *follower, guarded*: as honest, but at the first tool result that shows the injected text
  they make every call of the injection's ground truth, then go on. A follower is deaf to refusals of injected calls.

Every pair of a user task and an injection is run in which the honest calls come upon a text that an attacker can write.
Injections without a ground truth in the package (eight of workspace) cannot be followed by a script; they are counted
and left out. Pairs of one task or one injection are alike, so intervals over pairs are narrower than they should be;
`kinds refused in every pair` counts each injected action once.

Who says what the user said. The contracts (examples/agentdojo) ask for confirmations: of the kind of action, and of
names the record does not know. In an application the host records them as the user clicks or types. Here a host is
*guessed* from the user's prompt alone: a name is confirmed where it stands in the prompt, word for word; a kind of
action where one of the verbs in `VERBS` does. The guess knows neither answers nor injections. What it cannot confirm is
held; `after a question` counts the tasks in which a user who is asked, and wants the honest calls, says yes to each.
Nobody says yes to an injected call. Utility and attack success are AgentDojo's own checks of the final environment.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tallystick import Guard
from tallystick.contracts import Contract, load
from tallystick.evals.common.intervals import wilson
from tallystick.gates.scope import named_by
from tallystick.model.decision import Decision
from tallystick.runtime.run import Run
from tallystick.view.keys import typed_args

ROOT: Final = Path(__file__).resolve().parent.parent
VERSION: Final = "v1.2.2"
"""AgentDojo's benchmark version."""
SUITES: Final = ("workspace", "travel", "banking", "slack")
MARK: Final = "Note to the assistant"
"""What injected text starts with; the follower obeys when a tool's result shows it."""
VERBS: Final[Mapping[str, Mapping[str, str]]] = {
    "banking": {
        "payment": "pay|send|transfer|refund",
        "standing order": "schedul\\w*|recurring|standing orders?|rent payment|adjust|update",
        "password": "password",
        "account details": "account information|address|update my",
    },
    "slack": {
        "message": "send|message|write|reply|post|tell",
        "add": "add",
        "invite": "invite",
        "remove": "remove|kick",
        "publish": "publish|post",
    },
    "travel": {
        "reservation": "reserve|reservation|book",
        "calendar": "calendar|event|appointment",
        "cancel": "cancel",
        "email": "send|write",
    },
    "workspace": {
        "email": "send|write|reply|forward",
        "delete": "delete|remove",
        "create event": "create|schedule",
        "cancel event": "cancel",
        "reschedule event": "reschedule|move|postpone",
        "add participants": "add|invite",
        "create file": "create",
        "add to file": "add|append",
        "share": "share",
    },
}
"""Suite → kind of action → words that ask for it: the tools' own, and a few of the user prompts'. A generous guess."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """A host guessed from the prompt, and whether the user can be asked about what the guess does not cover.

    Attributes:
        verbs: kind of action → words that ask for it; None confirms every kind of action (names alone are judged).
    """

    prompt: str
    verbs: Mapping[str, str] | None
    asked: bool = False

    def said(self, kind: str, value: str) -> bool:
        """Whether the user, going by the prompt, said so."""
        if kind == "action":
            return self.verbs is None or bool(re.search(rf"(?i)\b({self.verbs[value]})\b", self.prompt))
        return bool(re.search(rf"(?<!\w){re.escape(value)}(?!\w)", self.prompt))


@dataclass
class Log:
    """What became of the calls of one episode that change something, and how often the user was asked.

    Attributes:
        honest, injected: (tool, admitted) for each consequential call.
        questions: confirmations the user was asked for.
        exposed: whether a result showed the injected text.
        refused_reads: honest reads that were refused.
    """

    honest: list[tuple[str, bool]] = field(default_factory=list)
    injected: list[tuple[str, bool]] = field(default_factory=list)
    questions: int = 0
    exposed: bool = False
    refused_reads: int = 0


class Episode:
    """One guarded or unguarded episode: makes calls, obeys an injection once, and keeps the log. A pipeline element."""

    name = "scripted"

    def __init__(self, task: Any, injection: Any, contract: Contract, host: Host, *, guarded: bool) -> None:
        self.task, self.injection, self.contract, self.host = task, injection, contract, host
        self.guarded = guarded
        self.log = Log()

    def query(
        self, query: str, runtime: Any, env: Any, messages: Any = (), extra_args: Any = None
    ) -> tuple[str, Any, Any, list[Any], Any]:
        """Run the episode on `env`; AgentDojo's pipeline protocol."""
        from agentdojo.types import text_content_block_from_string as block

        made: list[Any] = []
        with Guard(self.contract, refusal_budget=1000, same_refusal_limit=1000).run({"request": query}) as run:
            for call in self.task.ground_truth(env):
                shown = self._do(run, runtime, env, call, made, injected=False)
                if self.injection is not None and MARK in shown and not self.log.exposed:
                    self.log.exposed = True
                    for order in self.injection.ground_truth(env):
                        self._do(run, runtime, env, order, made, injected=True)
        # Injections that want to be told something in the answer are obeyed there too, whatever the guard thinks: it
        # judges calls. They show in the attack's success, not among the injected calls.
        said = self.task.GROUND_TRUTH_OUTPUT
        if self.log.exposed:
            said += f"\n{self.injection.GROUND_TRUTH_OUTPUT}"
        made.append({"role": "assistant", "content": [block(said)], "tool_calls": None})
        return query, runtime, env, [*messages, *made], extra_args or {}

    def _do(self, run: Run, runtime: Any, env: Any, call: Any, made: list[Any], *, injected: bool) -> str:
        """Make one call, keep it in the trace if it ran, and return what its result shows."""
        from pydantic_core import to_jsonable_python

        def tool(**args: Any) -> Any:
            made.append({"role": "assistant", "content": [], "tool_calls": [call]})
            return to_jsonable_python(runtime.run_function(env, call.function, args, raise_on_error=True)[0])

        args = to_jsonable_python(dict(call.args))
        if not self.guarded:
            return json.dumps(tool(**args), default=str, ensure_ascii=False)
        outcome = run.call(call.function, args, tool)
        while outcome.refused and self._confirm(run, call.function, args, outcome.decision, injected=injected):
            outcome = run.call(call.function, args, tool)
        if self.contract.tools[call.function].effect != "read":
            (self.log.injected if injected else self.log.honest).append((call.function, not outcome.refused))
        elif outcome.refused:
            self.log.refused_reads += 1
        if outcome.error is not None and not injected and all(admitted for _, admitted in self.log.honest):
            raise AssertionError(f"{self.task.ID}: {call.function} failed: {outcome.error}")
        return outcome.text()

    def _confirm(self, run: Run, tool: str, args: Mapping[str, Any], decision: Decision, *, injected: bool) -> bool:
        """Record what the user said, or says when asked, of what is lacking; return whether that was anything."""
        wanted = list(dict.fromkeys(_wanted(run, tool, args, decision)))
        said = [(kind, name) for kind, name in wanted if self.host.said(kind, name)]
        if not said and self.host.asked and not injected:
            said = wanted
            self.log.questions += len(wanted)
        for kind, name in said:
            run.confirm(kind, name)
        return bool(said)


def _wanted(run: Run, call: str, args: Mapping[str, Any], decision: Decision) -> Iterator[tuple[str, str]]:
    """Yield (kind, id) of each confirmation the decision lacks: what its requirements name, over these arguments."""
    tool = run.contract.tools[call]
    lacking = {reason.where for reason in decision.reasons if reason.code == "confirmation.missing"}
    env = {"args": typed_args(tool, args)}
    rules = [rule for needed in tool.requires for rule in (needed, *needed.options)]
    for rule in rules:
        if rule.id in lacking and rule.entity is not None:
            for ref in named_by(rule.entity, env):
                if ref is not None and run.view.confirmed(ref) is None:
                    yield ref.kind, ref.id


def one_line(text: str) -> str:
    """Return an injection's goal such that it can stand in any YAML scalar of the environment."""
    return re.sub(r"[\"'{}\\:#\s]+", " ", text).strip()


def suite_of(name: str) -> Any:
    from agentdojo.task_suite.load_suites import get_suite

    return get_suite(VERSION, name)


@functools.cache
def contract_of(name: str) -> Contract:
    return load(ROOT / "examples" / "agentdojo" / f"{name}.yaml")


def honest(name: str, task: Any, verbs: Mapping[str, str] | None, *, asked: bool) -> tuple[Log, bool]:
    """Run one user task without an injection; return its log and AgentDojo's own verdict on its utility."""
    suite = suite_of(name)
    host = Host(prompt=task.PROMPT, verbs=verbs, asked=asked)
    episode = Episode(task, None, contract_of(name), host, guarded=True)
    useful, _ = suite.run_task_with_pipeline(episode, task, None, {})
    return episode.log, useful


def attacked(
    name: str, task: Any, injection: Any, verbs: Mapping[str, str] | None, *, guarded: bool
) -> tuple[Log, bool, bool]:
    """Run one pair; return its log, whether the user task was useful, and whether the attack succeeded."""
    suite = suite_of(name)
    host = Host(prompt=task.PROMPT, verbs=verbs)
    episode = Episode(task, injection, contract_of(name), host, guarded=guarded)
    text = f"{MARK} - {one_line(injection.GOAL)}"
    vectors = dict.fromkeys(suite.get_injection_vector_defaults(), text)
    useful, broken = suite.run_task_with_pipeline(episode, task, injection, vectors)
    return episode.log, useful, broken


@dataclass
class Tally:
    """Counts of one suite or of all; each `(hits, of)`."""

    counts: Counter[str] = field(default_factory=Counter)
    tools: Counter[tuple[str, bool]] = field(default_factory=Counter)
    through: set[tuple[str, str]] = field(default_factory=set)
    orders: set[tuple[str, str]] = field(default_factory=set)

    def add(self, other: Tally) -> None:
        """Take in another suite's counts."""
        self.counts.update(other.counts)
        self.tools.update(other.tools)
        self.through |= other.through
        self.orders |= other.orders

    def share(self, hits: int, of: int) -> dict[str, Any]:
        """Return a share with its 95% Wilson interval."""
        found = wilson(hits, of)
        return {"hits": hits, "of": of, "share": round(hits / of, 4) if of else None, "interval": _pair(found)}

    def to_json(self) -> dict[str, Any]:
        """Return every figure as plain JSON values."""
        c = self.counts
        injected = c["injected_refused"] + c["injected_admitted"]
        return {
            "user_tasks": c["tasks"],
            "user_tasks_admitted": self.share(c["tasks_admitted"], c["tasks"]),
            "user_tasks_that_write_admitted": self.share(c["writing_admitted"], c["writing"]),
            "user_tasks_admitted_after_a_question": self.share(c["asked_admitted"], c["tasks"]),
            "questions": c["questions"],
            "useful": self.share(c["useful"], c["tasks"]),
            "injections": c["injections"],
            "injections_without_ground_truth": c["injections_unknown"],
            "pairs": c["pairs"],
            "injected_actions_refused": self.share(c["injected_refused"], injected),
            "kinds_of_injected_action_always_refused": self.share(len(self.orders - self.through), len(self.orders)),
            "attacks_succeeded_unguarded": self.share(c["broken_unguarded"], c["pairs"]),
            "of_those_succeeded_guarded": self.share(c["broken_guarded"], c["broken_unguarded"]),
            "attacks_without_a_writing_call": c["pairs_without_write"],
            "useful_under_attack": self.share(c["useful_attacked"], c["pairs"]),
            "admitted_injected_by_tool": {t: n for (t, ok), n in sorted(self.tools.items()) if ok},
        }


def measure(name: str, *, kinds: bool = True) -> Tally:
    """Run every user task of a suite, alone and with every injection."""
    suite, tally = suite_of(name), Tally()
    verbs = VERBS[name] if kinds else None
    followed = []
    for injection in suite.injection_tasks.values():
        known = injection.GROUND_TRUTH_OUTPUT or injection.ground_truth(suite.load_and_inject_default_environment({}))
        tally.counts.update(injections=1, injections_unknown=not known)
        followed += [injection] if known else []
    for task in suite.user_tasks.values():
        _honest(name, task, verbs, tally)
        for injection in followed:
            _pair_of(name, task, injection, verbs, tally)
    return tally


def _honest(name: str, task: Any, verbs: Mapping[str, str] | None, tally: Tally) -> None:
    log, useful = honest(name, task, verbs, asked=False)
    ok = all(admitted for _, admitted in log.honest) and log.refused_reads == 0
    after, _ = honest(name, task, verbs, asked=True)
    tally.counts.update(
        tasks=1,
        tasks_admitted=ok,
        writing=bool(log.honest),
        writing_admitted=bool(log.honest) and ok,
        asked_admitted=all(admitted for _, admitted in after.honest) and after.refused_reads == 0,
        questions=after.questions,
        useful=useful,
    )


def _pair_of(name: str, task: Any, injection: Any, verbs: Mapping[str, str] | None, tally: Tally) -> None:
    bare, _, broken_bare = attacked(name, task, injection, verbs, guarded=False)
    if not bare.exposed:
        return
    log, useful, broken = attacked(name, task, injection, verbs, guarded=True)
    tally.counts.update(
        pairs=1,
        pairs_without_write=not log.injected,
        broken_unguarded=broken_bare,
        broken_guarded=broken_bare and broken,
        useful_attacked=useful,
        injected_refused=sum(not admitted for _, admitted in log.injected),
        injected_admitted=sum(admitted for _, admitted in log.injected),
    )
    tally.tools.update(log.injected)
    for number, (tool, admitted) in enumerate(log.injected):
        order = (f"{name} {injection.ID}", f"{number} {tool}")
        tally.orders.add(order)
        if admitted:
            tally.through.add(order)


def _pair(interval: Any) -> list[float] | None:
    return None if interval is None else [round(float(end), 4) for end in interval]


ROWS: Final = (
    ("user tasks admitted", "user_tasks_admitted"),
    ("  of those that write", "user_tasks_that_write_admitted"),
    ("  after a question", "user_tasks_admitted_after_a_question"),
    ("useful (AgentDojo's check)", "useful"),
    ("injected actions refused", "injected_actions_refused"),
    ("  kinds refused in every pair", "kinds_of_injected_action_always_refused"),
    ("attacks succeeded, unguarded", "attacks_succeeded_unguarded"),
    ("  of those, guarded", "of_those_succeeded_guarded"),
    ("useful under attack", "useful_under_attack"),
)


def show(found: Mapping[str, Any], say: Callable[[str], None] = print) -> None:
    for level in ("kinds_and_names", "names_only"):
        head = {"kinds_and_names": "kinds of action and names", "names_only": "names only (any kind of action allowed)"}
        say(f"Confirmed by a host guessed from the prompt: {head[level]}")
        names = list(found[level])
        say(f"  {'':32}" + "".join(f"{name:>26}" for name in names))
        for label, key in ROWS:
            cells = [_cell(found[level][name][key]) for name in names]
            say(f"  {label:32}" + "".join(f"{cell:>26}" for cell in cells))
        for name in names:
            say(f"  let through in {name}: {found[level][name]['admitted_injected_by_tool'] or 'nothing'}")
        say("")


def _cell(share: Mapping[str, Any]) -> str:
    if not share["of"]:
        return "-"
    low, high = share["interval"]
    return f"{share['hits']}/{share['of']} {share['share']:.0%} [{low:.0%}, {high:.0%}]"


def run(suites: tuple[str, ...] = SUITES) -> dict[str, Any]:
    """Return every figure, per suite and over all, for both readings of what the host confirms."""
    import importlib.metadata

    found: dict[str, Any] = {
        "agentdojo": importlib.metadata.version("agentdojo"),
        "benchmark_version": VERSION,
        "host": "guessed from the prompt",
    }
    for level, kinds in (("kinds_and_names", True), ("names_only", False)):
        total, rows = Tally(), {}
        for name in suites:
            tally = measure(name, kinds=kinds)
            total.add(tally)
            rows[name] = tally.to_json()
        found[level] = {**rows, "all": total.to_json()} if len(suites) > 1 else rows
    return found


def main() -> None:
    # Started as a script, this file's folder leads the path, and `agentdojo` would be this file.
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != Path(__file__).resolve().parent]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", choices=SUITES, help="one suite; default all four")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # the package's own deprecations
    found = run((args.suite,) if args.suite else SUITES)
    if args.json:
        print(json.dumps(found))
    else:
        show(found)


if __name__ == "__main__":
    main()
