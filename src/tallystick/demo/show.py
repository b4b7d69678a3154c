"""`tallystick demo`: run the comparison and draw it so that it reads at a glance."""

from __future__ import annotations

import contextlib
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tallystick.demo.agents import Agent, Job, ScriptedAgent
from tallystick.demo.compare import Comparison, Done, Side, Step, compare
from tallystick.demo.desk import ALL_FAULTS, CURRENCY, Faults
from tallystick.demo.model_agent import ModelAgent
from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.values import plain

JOB: Final = Job(
    request="Pay invoice I-7 (420.00 EUR), send its receipt, report the amount.",
    invoice="I-7",
    amount="420.00",
)
"""What the demo's agent is asked."""
_TIMES: Final = {0: "not paid", 1: "paid once", 2: "paid twice"}


def run_demo(
    *,
    out: TextIO,
    ledger: Path | None = None,
    model: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    faults: Faults = ALL_FAULTS,
    json: bool = False,
) -> int:
    """Run the same agent unguarded and guarded on new desks, print both side by side, and return the exit code, 0.

    Args:
        out: where the table, or with `json` one JSON object, is written.
        ledger: SQLite file the guarded run is kept in; None keeps it in memory and throws it away.
        model: model name at `base_url`; None runs the scripted agent.
        base_url: OpenAI-compatible endpoint, e.g. `http://127.0.0.1:8080/v1`.
        api_key: sent as a bearer token to `base_url`.
        faults: what goes wrong at both desks.
        json: print one JSON object instead of the table.

    Raises:
        InputError: `model` without `base_url` or the other way round, an endpoint or ledger that cannot be used.
    """
    agent = agent_of(model=model, base_url=base_url, api_key=api_key)
    # The spinner is for a model, which may take minutes; it shows on a terminal only, and on stderr.
    waiting = Console(stderr=True).status(f"{agent.label} works at both desks") if model else contextlib.nullcontext()
    with tempfile.TemporaryDirectory(prefix="tallystick-demo-") as folder, waiting:
        found = compare(agent, JOB, faults, folder=Path(folder), ledger=ledger)
    if json:
        out.write(jsontext.dumps({**found.to_json(), "ledger": str(ledger) if ledger else None}) + "\n")
        return 0
    console = Console(file=out, highlight=False)
    draw(found, console)
    if ledger is not None:
        run, file = found.guarded.run, shlex.quote(str(ledger))
        console.print(f"The guarded run {run} is in {file}.", markup=False, soft_wrap=True)
        console.print(f"Look at it: tallystick show {file} {run}", markup=False, soft_wrap=True)
    return 0


def agent_of(*, model: str | None, base_url: str | None, api_key: str | None = None) -> Agent:
    """Return the scripted agent, or the model at `base_url`.

    Raises:
        InputError: one of `model` and `base_url` without the other, or a URL that cannot be used.
    """
    if model is None and base_url is None:
        return ScriptedAgent()
    if model is None or base_url is None:
        lacks = "--model" if model is None else "--base-url"
        raise InputError(f"`{lacks}` is missing", where="demo", fix="give --model and --base-url together, or neither")
    return ModelAgent(model=model, base_url=base_url, api_key=api_key)


def draw(found: Comparison, console: Console) -> None:
    """Print the comparison: the table, then what the guard answered."""
    console.print()
    console.print(Text.assemble(("Task    ", "dim"), found.job.request))
    console.print(Text.assemble(("Faults  ", "dim"), ", ".join(found.faults.names) or "none"))
    console.print(Text.assemble(("Agent   ", "dim"), f"{found.agent}, simulated desk; the same agent on both sides"))
    console.print()
    table = Table(header_style="bold", padding=(0, 1))
    table.add_column("")
    table.add_column("unguarded")
    table.add_column("guarded")
    for name, left, right in _rows(found):
        table.add_row(name, left, right)
    console.print(table)
    console.print()
    head = Text.assemble(("What the guard answered", "bold"), ("  by the event's number in the run", "dim"))
    console.print(head, soft_wrap=True)
    if not found.faults.names and found.guarded.done.refused:
        _indented(Text("no fault was set; what is refused is what the agent itself left out", style="dim"), console)
    for step in found.guarded.steps:
        _draw_step(step, console)
    console.print()


def _rows(found: Comparison) -> Iterator[tuple[str, Text, Text]]:
    left, right = found.unguarded, found.guarded
    due = found.job.amount
    yield f"paid for {found.job.invoice}", _paid(left, due), _paid(right, due)
    yield "receipt delivered", _yes_no(left.truth.deliveries > 0), _yes_no(right.truth.deliveries > 0)
    yield "read before paying", _yes_no(left.truth.seen_first), _yes_no(right.truth.seen_first)
    yield 'agent said "done"', _done(left.done, guarded=False), _done(right.done, guarded=True)
    yield "final status", _status(left.status), _status(right.status)


def _paid(side: Side, due: str) -> Text:
    count = side.truth.payments
    amount = plain(side.truth.paid)
    times = _TIMES.get(count, f"paid {count} times")
    return Text(f"{amount} {CURRENCY}  {times}", style="green" if count == 1 and amount == due else "bold red")


def _yes_no(value: bool | None) -> Text:
    if value is None:
        return Text("-", style="dim")
    return Text("yes", style="green") if value else Text("no", style="bold red")


def _done(done: Done, *, guarded: bool) -> Text:
    if not guarded:
        return Text("believed", style="bold red") if done.accepted else Text("never", style="dim")
    times = {0: "", 1: "refused once", 2: "refused twice"}.get(done.refused, f"refused {done.refused} times")
    if done.accepted:
        return Text(f"{times}, then accepted" if times else "accepted", style="green")
    return Text(times or "never", style="yellow")


def _status(status: str | None) -> Text:
    if status is None:
        return Text("none", style="bold red")
    return Text(status, style="bold green" if status == "CERTIFIED" else "bold yellow")


_STYLES: Final = {
    "accept": "green",
    "CERTIFIED": "bold green",
    "settled": "cyan",
    "in doubt": "red",
    "no effect": "red",
}


def _draw_step(step: Step, console: Console) -> None:
    style = _STYLES.get(step.verdict, "yellow")
    console.print(Text.assemble((f"{step.seq:>4}  ", "dim"), f"{step.about}: ", (step.verdict, style)), soft_wrap=True)
    if step.verdict == "accept":
        return
    for reason in step.reasons:
        about = f" `{reason.where}`:" if reason.where and reason.where not in reason.message else ""
        _indented(Text.assemble((reason.code, "bold"), f"{about} {reason.message}"), console)
    for help_ in dict.fromkeys(r.reverses for r in step.reasons if r.reverses):
        _indented(Text(f"what would help: {help_}", style="dim"), console)


def _indented(text: Text, console: Console) -> None:
    """Print `text` under a step: wrapped on a terminal, one line without padding into a pipe or file."""
    if not console.is_terminal:
        console.print(Text.assemble(" " * 6, text), soft_wrap=True)
        return
    for line in text.wrap(console, max(20, console.width - 6)):
        line.rstrip()
        console.print(Text.assemble(" " * 6, line))
