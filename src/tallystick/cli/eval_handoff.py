"""`tallystick eval handoff`: what becomes of a blocker on its way to whoever acts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from tallystick.cli import console
from tallystick.cli.console import Json
from tallystick.cli.eval import _key
from tallystick.cli.eval_lifecycle import BaseUrl, KeyEnv, _only, deployment
from tallystick.errors import InputError
from tallystick.model import jsontext

_MAX_TOKENS = 96


def handoff(
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="Who transforms and acts: `reference` (scripts, no model), `local`, `local:NAME`, or a model's name"
            " with --base-url.",
        ),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Count tasks, episodes and interventions from what is rendered; run nothing.")
    ] = False,
    panel: Annotated[
        list[str] | None,
        typer.Option(
            "--panel",
            metavar="NAME",
            help="main, compression, restoration, leave_out, endpoint, gate, paraphrase or transport; all but"
            " transport by default, repeatable.",
        ),
    ] = None,
    reviewer: Annotated[
        str | None,
        typer.Option(
            "--reviewer",
            metavar="NAME",
            help="model, or scripted: the canonical record is passed on, and D_up is 1. Default: model; scripted for"
            " `reference`.",
        ),
    ] = None,
    substrate: Annotated[
        str | None,
        typer.Option(
            "--substrate", metavar="NAME", help="What carries artifacts: plain, langgraph, autogen. Default: plain."
        ),
    ] = None,
    report: Annotated[
        list[Path] | None,
        typer.Option(
            "--report",
            metavar="DIR",
            help="Report what the replies kept in a folder come to; ask nobody. Repeatable: one model each.",
        ),
    ] = None,
    reading: Annotated[
        str | None,
        typer.Option(
            "--reading",
            metavar="NAME",
            help="Which tables are printed: precedence (a block of the record decides; default) or plain (all words,"
            " A.3).",
        ),
    ] = None,
    blind: Annotated[
        Path | None,
        typer.Option(
            "--blind",
            metavar="FILE",
            help="With --report: write 240 artifacts for blind judges here, one JSON object a line, and FILE.key.",
        ),
    ] = None,
    base_url: BaseUrl = None,
    api_key_env: KeyEnv = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="At most N items of each panel, spread over conditions.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Keep every reply here; an interrupted run goes on from it."),
    ] = None,
    json: Json = False,
) -> int:
    """Measure whether a blocker still binds after a handoff, and whether the forbidden action happens.

    The artifact is coded from the bytes the executor received; what is forbidden is seen at the endpoint. Exits with 1
    where a frozen item has changed, an executor saw more than its artifact, or a control touched one.
    """
    asking: Any = {
        "model": model, "limit": limit, "out": out, "reviewer": reviewer, "substrate": substrate,
        "base_url": base_url, "api_key_env": api_key_env,
    }  # fmt: skip
    if list_:
        _only("--list", panel=panel, report=report, blind=blind, reading=reading, **asking)
        return _list(json=json)
    if blind is not None:
        _only("--blind", reading=reading)
    reading = reading or "precedence"
    if reading not in ("precedence", "plain"):
        raise InputError(f"there is no reading `{reading[:80]}`", where="--reading", fix="one of: precedence, plain")
    from tallystick.evals.handoff.run import Plan  # noqa: PLC0415 - only running and reporting need the suite

    panels: Any = tuple(panel or ())
    if report:
        _only("--report", **asking)
        from tallystick.evals.handoff.report import of_folders  # noqa: PLC0415

        if blind is not None:
            return _blind(report, Plan(studies=panels), blind, json=json)
        told = of_folders(report, Plan(studies=panels))
        return _tell(told, reading, report[0] if len(report) == 1 else None, json=json)
    if blind is not None:
        raise InputError("only kept runs are sampled", where="--blind", fix="name them with --report")
    if model is None:
        raise InputError("nothing to run", where="--model", fix="name a model, or use --list or --report")
    its: Any = reviewer or ("scripted" if model == "reference" else "model")
    plan = Plan(studies=panels, reviewer=its, substrate=substrate or "plain", limit=limit).checked()
    if model == "reference":
        _only("--model reference", base_url=base_url, api_key_env=api_key_env)
        if its != "scripted":
            raise InputError("the reference roles have a scripted reviewer", where="--reviewer", fix="leave it out")
        return _reference(plan, reading, out, json=json)
    _reachable(model, base_url)
    if out is None:
        raise InputError("a model's replies are kept", where="--out", fix="name a folder")
    return _model(plan, model, base_url, _key(api_key_env), reading, out, json=json)


def _reachable(model: str, base_url: str | None) -> None:
    """Refuse a model that nobody serves, before anything else is asked for.

    Raises:
        InputError: it is neither a script nor a local model, and no endpoint is named.
    """
    from tallystick.models import is_local  # noqa: PLC0415

    if base_url is None and not is_local(model):
        raise InputError(
            f"the model `{model[:80]}` needs an endpoint", where="--model",
            fix="name one with --base-url, or use `reference`, `local` or `local:NAME`",
        )  # fmt: skip


def _list(*, json: bool) -> int:
    from tallystick.evals.handoff.manifest import listing  # noqa: PLC0415 - only this renders every panel

    told = listing()
    if json:
        console.emit(told)
        return 0 if told["manifest_ok"] else 1
    tasks = told["tasks"]
    console.say(f"{tasks['static']} static and {tasks['dynamic']} dynamic tasks, {told['domains']} domains")
    console.say(f"{told['episodes_per_model']} episodes a model, {told['episodes_over_six_models']} over six")
    for name, one in told["conditions"].items():
        console.say(f"  {name:4} {one['per_model']:3} a model, {one['over_six_models']:3} over six")
    for name, one in told["interventions"].items():
        arms = ", ".join(f"{arm} {n}" for arm, n in one["arms"].items())
        console.say(f"{name}: {one['episodes']} episodes over {one['artifacts']} artifacts: {arms}")
    console.say(f"paraphrase: {told['paraphrases']} episodes")
    console.say("transport: " + ", ".join(f"{name} {n}" for name, n in told["transport"].items()) + " a substrate")
    console.say(f"manifest {'kept' if told['manifest_ok'] else 'BROKEN: an item or data file is not the frozen one'}")
    return 0 if told["manifest_ok"] else 1


def _blind(folders: list[Path], plan: Any, file: Path, *, json: bool) -> int:
    from tallystick.evals.handoff.blind import sample  # noqa: PLC0415 - only this samples
    from tallystick.evals.handoff.coding import coded  # noqa: PLC0415
    from tallystick.evals.handoff.report import kept_episodes  # noqa: PLC0415

    sheets, key = sample(coded(kept_episodes(folders, plan)[0]))
    if not sheets:
        raise InputError(
            "no artifact to sample", where="--blind", fix="run the panel compression, restoration or leave_out"
        )
    for path, lines in ((file, sheets), (file.with_name(f"{file.name}.key"), key)):
        try:
            path.write_text("".join(jsontext.dumps(line) + "\n" for line in lines), encoding="utf-8")
        except OSError as bad:
            raise InputError(f"cannot be written: {bad.strerror}", where=str(path)) from None
    told = {"sheets": len(sheets), "file": str(file), "key": f"{file}.key"}
    if json:
        console.emit(told)
    else:
        console.say(f"{len(sheets)} artifacts in {file}; what they are is in {file}.key")
    return 0


def _reference(plan: Any, reading: str, out: Path | None, *, json: bool) -> int:
    from tallystick.evals.common.intervals import numpy  # noqa: PLC0415
    from tallystick.evals.handoff import kept  # noqa: PLC0415
    from tallystick.evals.handoff.report import report  # noqa: PLC0415
    from tallystick.evals.handoff.run import episodes, reference_cast, settings  # noqa: PLC0415

    numpy()  # the report needs it: said before anything is played
    ran = episodes(plan, reference_cast(plan.substrate))
    its = settings(plan, "reference")
    if out is not None:
        kept.settle(out, its)
    return _tell(report(ran.episodes, settings=[its]), reading, out, json=json)


def _model(plan: Any, model: str, base_url: str | None, key: str | None, reading: str, out: Path, *, json: bool) -> int:
    from tallystick.evals.common.intervals import numpy  # noqa: PLC0415
    from tallystick.evals.handoff import kept  # noqa: PLC0415
    from tallystick.evals.handoff.asking import Asked  # noqa: PLC0415
    from tallystick.evals.handoff.report import report  # noqa: PLC0415
    from tallystick.evals.handoff.run import episodes, model_cast, settings  # noqa: PLC0415

    numpy()  # the report needs it: said before anybody is asked
    with _interruptible(out), deployment(model, base_url, key, max_tokens=_MAX_TOKENS, temperature=0.0) as (asked, _):
        its = settings(plan, asked.name)
        kept.settle(out, its)
        asker = Asked(asked, out, _progress)
        cast = model_cast(asker, plan.reviewer, plan.substrate)
        ran = episodes(plan, cast)
    if not ran.episodes:
        raise InputError(
            f"no episode has all its replies: {asker.failure or 'nothing came'}", where=asked.name,
            fix="start it again when the endpoint answers; it goes on from here",
        )  # fmt: skip
    told = report(ran.episodes, missing={cast.model: ran.missing}, settings=[its])
    return _tell(told, reading, out, json=json)


@contextlib.contextmanager
def _interruptible(out: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        console.note(f"interrupted; what was answered is kept in {out}, and the same command goes on from it")
        raise


def _progress(asked: int) -> None:
    if asked % 50 == 0:
        console.note(f"{asked} replies")


def _tell(told: dict[str, Any], reading: str, out: Path | None, *, json: bool) -> int:
    from tallystick.evals.handoff.figures import save  # noqa: PLC0415 - only a kept run draws
    from tallystick.evals.handoff.page import text  # noqa: PLC0415

    shown = text(told, reading)
    if out is not None:
        (out / "report.json").write_text(jsontext.dumps(told) + "\n", encoding="utf-8")
        (out / "report.txt").write_text(shown, encoding="utf-8")
        kept = "report.txt, report.json"
        try:
            save(told, out / "figures")
            kept += ", figures/"
        except InputError as bad:
            console.note(f"no figures: {bad}")
        console.note(f"kept in {out}: {kept}")
    if json:
        console.emit(told)
    else:
        console.say(shown.rstrip("\n"))
    return 1 if told["apart"] or told["leaks"]["leaks"] else 0
