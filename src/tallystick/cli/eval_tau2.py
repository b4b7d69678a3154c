"""`tallystick eval lifecycle-tau2`: the reporting duty on τ²-bench."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tallystick.cli import console
from tallystick.cli.console import Json
from tallystick.cli.eval_lifecycle import telling
from tallystick.errors import InputError
from tallystick.model import jsontext


def lifecycle_tau2(
    domain: Annotated[
        str | None, typer.Argument(metavar="DOMAIN", help="telecom or retail, as in the paper, or airline.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="The agent: a model's name of Inspect's, or `scripted:WAY`."),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="NAME", help="The model that plays the customer; the agent's by default."),
    ] = None,
    gold: Annotated[
        bool,
        typer.Option(
            "--gold", help="Replay the author's calls of every task, and say where they complete it; ask nobody."
        ),
    ] = False,
    report: Annotated[
        list[Path] | None,
        typer.Option(
            "--report", metavar="DIR", help="Score the episodes kept in a folder; repeatable: one deployment each."
        ),
    ] = None,
    task: Annotated[list[str] | None, typer.Option("--task", metavar="ID", help="Only this task; repeatable.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="At most N tasks.")] = None,
    repetitions: Annotated[int, typer.Option("--repetitions", metavar="N", help="Trajectories of each task.")] = 1,
    message_limit: Annotated[
        int | None,
        typer.Option("--message-limit", metavar="N", help="Turns of each side; the benchmark's own by default."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Keep every episode here; an interrupted run goes on from it."),
    ] = None,
    json: Json = False,
) -> int:
    """Ask an agent on τ²-bench to end each message to the customer with a stage, and compare it with the state.

    Needs the `tau2` extra. Gold comes from replaying what was called before a message in a fresh environment. Exits
    with 1 where the corruption gate finds a fault in the scoring, or, with --gold, where the rule is not kept.
    """
    if report:
        _alone("--report", DOMAIN=domain, __model=model, __task=task, __limit=limit, __out=out)
        return _report(report, json=json)
    if domain is None:
        raise InputError("which domain?", where="DOMAIN", fix="telecom, retail or airline; or --report DIR")
    from tallystick.evals.lifecycle.tau2.run import Plan, play  # noqa: PLC0415 - only this plays
    from tallystick.evals.tau2.tasks import domain_named  # noqa: PLC0415

    plan = Plan(
        domain=domain_named(domain),
        only=tuple(task or ()),
        limit=limit,
        epochs=repetitions,
        message_limit=message_limit,
    )
    if gold:
        _alone("--gold", __model=model, __out=out)
        return _gold(plan, json=json)
    if model is None or out is None:
        raise InputError(
            "nothing to run", where="--model", fix="--model and --out together; or --gold; or --report DIR"
        )
    play(plan, model, user, out)
    console.note(f"kept in {out}")
    return _report([out], json=json)


def _alone(option: str, **others: object) -> None:
    """Refuse what would be passed over in silence.

    Raises:
        InputError: an option stands beside one that makes it do nothing.
    """
    given = [name.replace("__", "--") for name, value in others.items() if value is not None]
    if given:
        raise InputError(f"beside `{option}`, {', '.join(given)} would do nothing", where=option, fix="leave it out")


def _gold(plan: object, *, json: bool) -> int:
    from tallystick.evals.lifecycle.tau2.authored import authored, kept  # noqa: PLC0415 - only this replays
    from tallystick.evals.lifecycle.tau2.run import Plan  # noqa: PLC0415

    assert isinstance(plan, Plan)
    told = authored(plan.domain, plan.chosen(), progress=telling("tasks"))
    good = kept(told)
    if json:
        console.emit({**told, "kept": good})
    else:
        for name, value in told.items():
            console.say(f"{name:16} {', '.join(value) or 'none' if isinstance(value, list) else value}")
        console.say(f"the gold rule is {'kept' if good else 'NOT kept'}")
    return 0 if good else 1


def _report(folders: list[Path], *, json: bool) -> int:
    from tallystick.evals.lifecycle.tau2.figures import save  # noqa: PLC0415 - only this scores and draws
    from tallystick.evals.lifecycle.tau2.report import report  # noqa: PLC0415
    from tallystick.evals.lifecycle.tau2.tables import text  # noqa: PLC0415

    told = report(folders, progress=telling("episodes replayed"))
    shown = text(told)
    if len(folders) == 1:
        (folders[0] / "report.json").write_text(jsontext.dumps(told) + "\n", encoding="utf-8")
        (folders[0] / "report.txt").write_text(shown, encoding="utf-8")
        try:
            save(told, folders[0] / "figures")
        except InputError as bad:
            console.note(f"no figures: {bad}")
    if json:
        console.emit(told)
    else:
        console.say(shown.rstrip("\n"))
    return 0 if told.get("corruption", {"passed": False})["passed"] else 1
