"""Who ends the loop: the source's survey of seventeen frameworks and five deployed runtimes, as data.

Source: unreliable-progress-bar, appendix F and table 5. What an adapter must intercept is *ours*. The page
docs/explanation/who-ends-the-loop.md is generated from it.
"""

from __future__ import annotations

import datetime
import importlib.resources
from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal

import msgspec
import yaml

Family = Literal["A1", "A2", "B1", "B2", "B3", "B?"]
Verdict = Literal["model-emitted", "runtime-owned", "evidence incomplete"]
FAMILIES: Final[dict[str, str]] = {
    "A1": "typed runtime state: an event, an edge, an expression",
    "A2": "a hard bound: iterations, turns, a budget",
    "B1": "a textual marker in what the model wrote",
    "B2": "the presence or absence of tool calls",
    "B3": "a dedicated terminal tool",
    "B?": "model-emitted, subtype undocumented",
    "C": "hybrid: signals of the model and rules of the runtime together",
}
VERDICTS: Final[tuple[Verdict, ...]] = ("model-emitted", "runtime-owned", "evidence incomplete")


class Surveyed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One framework or runtime.

    Attributes:
        name: what it is called.
        families: of its canonical use; empty where the evidence is incomplete.
        quote: what the source records: an excerpt, or its own words.
        accessed: when the source's authors read it.
        intercept: what an adapter has to get hold of.
        also: families the source records besides.
        hybrid: the source counts it as a hybrid (C) too.
        read: the package that `intercept` was read in, "" for documentation alone.
        adapter: the module here that does it, "" for none yet.
        commit, at: for a runtime, the pinned commit and the places in it.
    """

    name: str
    families: tuple[Family, ...]
    quote: str
    accessed: datetime.date
    intercept: str
    also: tuple[Family, ...] = ()
    hybrid: bool = False
    read: str = ""
    adapter: str = ""
    commit: str = ""
    at: str = ""

    @property
    def verdict(self) -> Verdict:
        """Who owns the signal that the loop's canonical use reads: the model wherever it reads one of the model's."""
        if not self.families:
            return "evidence incomplete"
        return "model-emitted" if any(f.startswith("B") for f in self.families) else "runtime-owned"

    @property
    def shown(self) -> str:
        """Its families in a table."""
        main = "+".join(self.families) or "none"
        more = f" (also {', '.join(self.also)})" if self.also else ""
        return f"C, {main}{more}" if self.hybrid else main + more


class Survey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The survey."""

    frameworks: tuple[Surveyed, ...]
    runtimes: tuple[Surveyed, ...]


def survey() -> Survey:
    """Return the survey."""
    text = (importlib.resources.files(__package__) / "frameworks.yaml").read_text(encoding="utf-8")
    return msgspec.convert(yaml.safe_load(text), type=Survey)


def counted(rows: Sequence[Surveyed]) -> dict[Verdict, int]:
    """Return how many rows have each verdict."""
    found = Counter(row.verdict for row in rows)
    return {verdict: found[verdict] for verdict in VERDICTS}


_PAGE: Final = """\
# Who ends the loop

An agent runs in a loop: the runtime gives it context, it acts, and somebody decides whether to go on. In most
frameworks that somebody is the model: the loop reads a signal that the model generated. Of the {frameworks}
frameworks that the paper surveyed, {model} let a model-emitted signal end the loop in their canonical use, {runtime}
own the decision in the runtime, and for {incomplete} the evidence is incomplete. Of {runtimes} deployed runtimes,
{structural} read a structural signal of the model's.

So every adapter starts with one question: which signal must it get hold of, so that the stop gate is asked before the
loop believes it? A finish reason, a turn without a call, a marker and a terminal tool are all words here; none of
them makes a run CERTIFIED. A bound (A2) is no evidence of completion either, and ends a run UNCERTIFIED.

| family | the loop reads |
| --- | --- |
{families}

Families and records are the paper's (appendix F, read in August and September 2026; selected for coverage, not
sampled, and no prevalence is claimed). What to intercept is ours, from the packages named as they were in November
2026; defaults change. An adapter is named where there is one.

## Frameworks

{framework_table}

LangGraph counts by its prebuilt executor; its graph primitives are A1. CrewAI is not imputed: a reading of its source
would resolve it, and the paper does not carry that reading into the count.

## Deployed runtimes, by source

{runtime_table}

In OpenHands a reply with text and no tool call is recorded as FINISHED, which the same enumeration defines as
"completed the current task": a run that goes quiet mid-task gets the status reserved for completion.

## What this project does about it

`run.finish`, `run.turn` and every adapter put the signal to the stop gate, which looks at the record only. The
derived [stage](../glossary.md) is what a loop should read; see [watch the progress of a
run](../how-to/watch-progress.md). The marker and the no-tool-call policy exist in `Guard(stop_policy=…)` to be
compared with it.
"""


def page() -> str:
    """Return the page docs/explanation/who-ends-the-loop.md."""
    found = survey()
    count = counted(found.frameworks)
    return _PAGE.format(
        frameworks=len(found.frameworks),
        runtimes=len(found.runtimes),
        model=count["model-emitted"],
        runtime=count["runtime-owned"],
        incomplete=count["evidence incomplete"],
        structural=sum("B2" in row.families for row in found.runtimes),
        families="\n".join(f"| {name} | {text} |" for name, text in FAMILIES.items()),
        framework_table=_table(found.frameworks),
        runtime_table=_table(found.runtimes),
    )


def _table(rows: Sequence[Surveyed]) -> str:
    lines = [
        "| name | signal | family | as the paper records it | an adapter must intercept |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        place = f" (`{row.at}` at `{row.commit}`)" if row.commit else ""
        read = f" ({row.read})" if row.read else " (by documentation)"
        adapter = f" **Done:** `{row.adapter}`" if row.adapter else ""
        lines.append(
            f"| {row.name} | {row.verdict} | {row.shown} | “{row.quote}”{place}, {row.accessed} | "
            f"{row.intercept}{read}{adapter} |"
        )
    return "\n".join(lines)
