"""`tallystick eval takeover`: finishing a half-done task from the state reached, in four stages."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tallystick.cli import console
from tallystick.cli.console import Json
from tallystick.cli.eval import _key
from tallystick.cli.eval_lifecycle import BaseUrl, KeyEnv, _only, deployment
from tallystick.errors import InputError
from tallystick.model import jsontext

_MAX_TOKENS = 256
_SCRIPTED = "scripted"


def takeover(
    surface: Annotated[
        str,
        typer.Option(
            "--surface",
            metavar="NAME",
            help="invoice, retail, airline, state-bench, or MODULE:NAME of your own; `all` lists what each would need.",
        ),
    ] = "invoice",
    state_bench: Annotated[
        Path | None,
        typer.Option("--state-bench", metavar="DIR", help="A checkout of STATE-Bench, for --surface state-bench."),
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option("--episodes", metavar="N", help="Frontiers; all of the surface's by default, 50 on the desk."),
    ] = None,
    seed: Annotated[
        str | None, typer.Option("--seed", metavar="TEXT", help="Of drawn episodes and of scripted mistakes.")
    ] = None,
    successor: Annotated[
        list[str] | None,
        typer.Option(
            "--successor",
            metavar="NAME",
            help="Repeatable: mixture (default), perfect, omitting, repeating, wrong_entity, wrong_order, false_claim,"
            " all scripted; or local:NAME, or a model at --base-url.",
        ),
    ] = None,
    mend: Annotated[
        float | None,
        typer.Option("--mend", metavar="P", help="How often a script mends after feedback; 0.5 by default."),
    ] = None,
    stage: Annotated[
        list[str] | None,
        typer.Option("--stage", metavar="NAME", help="direct, certified_direct, contract_plan, full; all by default."),
    ] = None,
    runs: Annotated[
        int | None, typer.Option("--runs", metavar="N", help="Complete runs with mistakes drawn anew; 1 by default.")
    ] = None,
    cheap: Annotated[
        str | None,
        typer.Option(
            "--cheap",
            metavar="NAME",
            help="With --strong, whole methods on the invoice desk: scripted, local:NAME, or a model at --base-url.",
        ),
    ] = None,
    strong: Annotated[
        str | None, typer.Option("--strong", metavar="NAME", help="Who takes over from the cheap one; as --cheap.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Of a pair, repeatable: a stage, or cheap_full, strong_full, cascade, router, stepwise; all by"
            " default.",
        ),
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option("--prices", metavar="FILE", help="Of a pair: a price table; the shipped one is dated 2026-12-01."),
    ] = None,
    base_url: BaseUrl = None,
    api_key_env: KeyEnv = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Keep rows, report and figures; an interrupted run goes on from it."),
    ] = None,
    json: Json = False,
) -> int:
    """Measure what becomes of a half-done task when a successor finishes it from the state reached.

    The same captured states are finished in four stages, from no contract at all to the whole of `run.take_over`.
    Successors are scripts with stated mistakes, and named so; with --cheap and --strong, two agents play whole methods
    on the invoice desk. What is right, the world itself says. Published figures stand beside, marked.
    """
    pair = {"cheap": cheap, "strong": strong}
    only_pairs = {"method": method or None, "prices": prices}
    only_scripts = {"successor": successor or None, "mend": mend, "stage": stage or None, "runs": runs}
    if cheap is None and strong is None:
        _absent(only_pairs, "name a pair with --cheap and --strong")
        if surface == "all":
            _only(
                "--surface all", **only_scripts, episodes=episodes, seed=seed, out=out,
                **{"base-url": base_url, "api-key-env": api_key_env},
            )  # fmt: skip
            return _listed(state_bench, json=json)
        wanted = list(dict.fromkeys(successor or []))
        key = _key(api_key_env)
        return _stages(surface, state_bench, episodes, seed, wanted, mend, stage, runs, base_url, key, out, json=json)
    missing = next((name for name, value in pair.items() if value is None), None)
    if missing is not None:
        raise InputError("a pair is two", where=f"--{missing}", fix="name both --cheap and --strong")
    if surface != "invoice":
        raise InputError("pairs play on the invoice desk only", where="--surface", fix="--surface invoice")
    _only("--cheap", **only_scripts, **{"state-bench": state_bench})
    return _pair(str(cheap), str(strong), episodes, seed, method, prices, base_url, _key(api_key_env), out, json=json)


def _absent(options: dict[str, Any], fix: str) -> None:
    given = next((name for name, value in options.items() if value is not None), None)
    if given is not None:
        raise InputError("only a pair of agents takes it", where=f"--{given}", fix=fix)


def _listed(state_bench: Path | None, *, json: bool) -> int:
    from tallystick.evals.takeover.surfaces import ATTACHED, SURFACES, not_run, surface_named  # noqa: PLC0415

    found: dict[str, str] = {}
    for name in SURFACES:
        try:
            made = surface_named(name, state_bench=state_bench if name == "state-bench" else None)
            found[name] = f"{len(made.frontiers(None, 'takeover-1'))} frontiers"
        except InputError as bad:
            found[name] = f"not run: {bad}"
    found |= {name: not_run(name) for name in ATTACHED}
    if json:
        console.emit({"surfaces": found})
    else:
        for name, words in found.items():
            console.say(f"{name:12} {words}")
    return 0


def _stages(
    surface: str,
    state_bench: Path | None,
    episodes: int | None,
    seed: str | None,
    successor: list[str],
    mend: float | None,
    stage: list[str] | None,
    runs: int | None,
    base_url: str | None,
    key: str | None,
    out: Path | None,
    *,
    json: bool,
) -> int:
    from tallystick.evals.takeover.report import report  # noqa: PLC0415 - only running needs the suite
    from tallystick.evals.takeover.rows import STAGES  # noqa: PLC0415
    from tallystick.evals.takeover.run import SEED, Plan, run  # noqa: PLC0415
    from tallystick.evals.takeover.successors import MIXTURE, MODES, STATED  # noqa: PLC0415
    from tallystick.evals.takeover.surfaces import surface_named  # noqa: PLC0415
    from tallystick.models import is_local  # noqa: PLC0415

    stages: Any = tuple(dict.fromkeys(stage)) if stage else STAGES
    models = [name for name in successor if is_local(name) or (base_url and name not in (*MODES, MIXTURE))]
    if base_url is not None and all(is_local(name) for name in models):
        raise InputError("there is no model to reach", where="--base-url", fix="name one with --successor")
    scripts = tuple(name for name in successor if name not in models)
    plan = Plan(
        episodes=episodes, seed=SEED if seed is None else seed,
        successors=scripts if successor else (MIXTURE,), stages=stages,
        runs=1 if runs is None else runs, mend=STATED.mend if mend is None else mend,
    ).checked()  # fmt: skip
    if ":" in surface and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # a surface of one's own stands beside where it is run, as with `python -m`
    made = surface_named(surface, state_bench=state_bench)
    if models and out is None:
        raise InputError("a model's episodes are kept", where="--out", fix="name a folder")
    with contextlib.ExitStack() as stack:
        asked = [_asked(stack, "--successor", name, base_url, key) for name in models]
        ran = run(plan, made, out, stack.enter_context(_bar("episodes", out)), asked)
    return _tell(report(ran), out, json=json)


def _pair(
    cheap: str,
    strong: str,
    episodes: int | None,
    seed: str | None,
    method: list[str] | None,
    prices: Path | None,
    base_url: str | None,
    key: str | None,
    out: Path | None,
    *,
    json: bool,
) -> int:
    from tallystick.evals.takeover import costs, pair  # noqa: PLC0415 - only running needs the suite
    from tallystick.evals.takeover.methods import METHODS  # noqa: PLC0415
    from tallystick.evals.takeover.run import SEED  # noqa: PLC0415

    methods: Any = tuple(dict.fromkeys(method)) if method else METHODS
    plan = pair.PairPlan(
        episodes=50 if episodes is None else episodes, seed=SEED if seed is None else seed, methods=methods
    ).checked()
    table = costs.prices(prices)
    scripted = [name == _SCRIPTED for name in (cheap, strong)]
    if any(scripted) and not all(scripted):
        raise InputError("a script and a model are no pair", where="--cheap, --strong", fix="two of one sort")
    if not any(scripted) and out is None:
        raise InputError("a model's episodes are kept", where="--out", fix="name a folder")
    with contextlib.ExitStack() as stack:
        cast: Any = pair.ScriptedCast(seed=plan.seed)
        if not any(scripted):
            named = {strong: "--strong", cheap: "--cheap"}
            asked = {name: _asked(stack, option, name, base_url, key) for name, option in named.items()}
            cast = pair.ModelCast(cheap=asked[cheap], strong=asked[strong])
        told = stack.enter_context(_bar("episodes", out))
        rows = pair.played(plan, cast, out, told)
    return _tell(pair.report(rows, cast, plan, table), out, json=json)


def _asked(stack: contextlib.ExitStack, option: str, name: str, base_url: str | None, key: str | None) -> Any:
    """Return the model `name`, at its endpoint for as long as `stack` lasts. Errors name the option it was given by."""
    from tallystick.models import is_local  # noqa: PLC0415

    local = is_local(name)
    if not local and base_url is None:
        fix = "name one with --base-url, or a model of this machine as `local:NAME`"
        raise InputError(f"the model `{name[:80]}` needs an endpoint", where=option, fix=fix)
    try:
        return stack.enter_context(
            deployment(name, None if local else base_url, key, max_tokens=_MAX_TOKENS, temperature=0.0)
        )[0]
    except InputError as bad:
        raise InputError(bad.message, where=option if bad.where == "--model" else bad.where, fix=bad.fix) from None


@contextlib.contextmanager
def _bar(what: str, out: Path | None) -> Iterator[Callable[[int, int], None]]:
    """Yield what moves a bar on stderr; on a pipe or in a file it says every twentieth in a line instead."""
    err = console.stderr()
    try:
        if not err.is_terminal:

            def note(done: int, total: int) -> None:
                if done % max(1, total // 20) == 0 or done == total:
                    console.note(f"{done} of {total} {what}")

            yield note
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=err, transient=True) as shown:
            task = shown.add_task(what, total=None)
            yield lambda done, total: shown.update(task, completed=done, total=total)
    except KeyboardInterrupt:
        if out is not None:
            console.note(f"interrupted; what is through is kept in {out}, and the same command goes on from it")
        raise


def _tell(told: dict[str, Any], out: Path | None, *, json: bool) -> int:
    from tallystick.evals.takeover.figures import save  # noqa: PLC0415 - only a kept run draws
    from tallystick.evals.takeover.tables import text  # noqa: PLC0415

    shown = text(told)
    if out is not None:
        (out / "report.json").write_text(jsontext.dumps(told) + "\n", encoding="utf-8")
        (out / "report.txt").write_text(shown, encoding="utf-8")
        try:
            save(told, out / "figures")
        except InputError as bad:
            console.note(f"no figures: {bad}")
        console.note(f"kept in {out}: rows.jsonl, report.json, report.txt, figures")
    if json:
        console.emit(told)
    else:
        console.say(shown.rstrip("\n"))
    return 0
