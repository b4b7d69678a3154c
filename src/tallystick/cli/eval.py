"""`tallystick eval evidence`: the evidence suite, its composition, its own check, and agents run over it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from tallystick.cli import console
from tallystick.cli.console import Json
from tallystick.errors import InputError

evals = typer.Typer(
    help="Benchmarks of agents, scripted or real: whether what they do is supported by what they found out.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
_REPLY_SECONDS = 300


@evals.callback()
def _help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        console.say(context.get_help())


@evals.command("evidence")
def evidence(
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="Who is run: `scripted:FAULT[:P]`, `local`, `local:NAME`, or a model's name with --base-url.",
        ),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Count what the suite consists of, from its items, and run nothing.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Play reference, other and corrupted paths over every case; judge the evaluator."),
    ] = False,
    base_url: Annotated[
        str | None,
        typer.Option("--base-url", metavar="URL", help="OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1."),
    ] = None,
    api_key_env: Annotated[
        str | None,
        typer.Option("--api-key-env", metavar="NAME", help="Environment variable that holds the endpoint's key."),
    ] = None,
    harness: Annotated[
        str,
        typer.Option("--harness", metavar="NAME", help="What puts a model before a case: loop, inspect, pydantic-ai."),
    ] = "loop",
    scgr: Annotated[
        str | None,
        typer.Option(
            "--scgr", metavar="VARIANT", help="Put the agent behind the SCGR front end: select, or eg (our mechanism)."
        ),
    ] = None,
    calls: Annotated[
        int, typer.Option("--calls", metavar="N", help="Information calls in one case that --scgr allows.")
    ] = 24,
    protocol: Annotated[
        str | None, typer.Option("--protocol", metavar="P", help="One of Legacy, V0, V1, V2, V3; all by default.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", help="At most N cases, spread evenly over protocols and domains."),
    ] = None,
    arm: Annotated[
        list[str] | None,
        typer.Option(
            "--arm",
            metavar="NAME",
            help="Derived sets instead of the suite, repeatable: an arm, or interventions, matched, balanced.",
        ),
    ] = None,
    epochs: Annotated[int, typer.Option("--epochs", metavar="N", help="Rollouts of each case.")] = 3,
    gated: Annotated[bool, typer.Option("--gated", help="Put the act gate before the tools.")] = False,
    seed: Annotated[
        str | None,
        typer.Option("--seed", metavar="TEXT", help="Draw a parallel suite with other records, for held-out use."),
    ] = None,
    max_turns: Annotated[
        int, typer.Option("--max-turns", metavar="N", help="Most requests to a model in one case.")
    ] = 60,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", metavar="N", help="Longest reply of a model, in tokens.")
    ] = 1024,
    temperature: Annotated[
        float, typer.Option("--temperature", metavar="T", help="Of a model; 0 asks for the likeliest words.")
    ] = 0.0,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Keep episodes and report here; an interrupted run goes on from it."),
    ] = None,
    json: Json = False,
) -> int:
    """Measure whether an agent's actions were supported by evidence it had before them, over 656 cases.

    ECS, BSR, PAR, CAS, Gap and Part by protocol with 95% intervals; published figures stand beside, marked. Scripted
    agents with a stated fault test the evaluator and the gate; they are named so everywhere. With --check, exits with 1
    where a path does not end as it must.
    """
    narrowing = {"--model": model, "--protocol": protocol, "--limit": limit, "--arm": arm, "--seed": seed, "--out": out}
    _alone(list_=list_, check=check, given=[name for name, value in narrowing.items() if value is not None])
    if list_:
        return _list(json=json)
    if check:
        return _check(json=json)
    if model is None:
        raise InputError("nothing to run", where="--model", fix="name a model, or use --list or --check")
    from tallystick.evals.evidence.plan import SEED  # noqa: PLC0415 - only running needs the suite
    from tallystick.evals.evidence.run import run  # noqa: PLC0415
    from tallystick.evals.evidence.study import study  # noqa: PLC0415
    from tallystick.evals.evidence.tables import study_text, text  # noqa: PLC0415

    with _agent(
        model, base_url, _key(api_key_env), harness, max_turns=max_turns, max_tokens=max_tokens, temperature=temperature
    ) as (plain, plain_name, plain_settings):
        agent, name, settings = _behind(plain, plain_name, plain_settings, scgr, calls)
        options: dict[str, Any] = {
            "name": name, "gated": gated, "epochs": epochs, "seed": seed or SEED, "resample": _can_resample(),
            "progress": _progress(), "settings": settings,
        }  # fmt: skip
        if arm:
            told = study(agent, arm, protocol, limit, out, **options)
        else:
            told = run(agent, protocol, limit, out, **options)
    shown = study_text(told) if arm else text(told)
    if out is not None:
        _keep(out, told, shown)
    if json:
        console.emit(told)
    else:
        console.say(shown.rstrip("\n"))
    return 0


def _list(*, json: bool) -> int:
    from tallystick.evals.evidence.manifest import list_composition  # noqa: PLC0415 - only this draws the suite
    from tallystick.evals.evidence.tables import composition_text  # noqa: PLC0415

    told = list_composition()
    if json:
        console.emit(told)
    else:
        console.say(composition_text(told).rstrip("\n"))
    return 0 if told["manifest_ok"] else 1


def _alone(*, list_: bool, check: bool, given: list[str]) -> None:
    """Refuse what would be passed over in silence: the whole suite is listed or checked, and nothing is run beside.

    Raises:
        InputError: --list or --check stands beside each other or beside an option that only a run uses.
    """
    mine = "--list" if list_ else "--check"
    others = [*(["--check"] if list_ and check else []), *given]
    if (list_ or check) and others:
        raise InputError(
            f"`{mine}` is about the whole suite, so {', '.join(others)} would do nothing",
            where=mine,
            fix="leave it out",
        )


def _check(*, json: bool) -> int:
    import msgspec  # noqa: PLC0415 - only this needs them

    from tallystick.evals.evidence import checkpoints  # noqa: PLC0415
    from tallystick.evals.evidence.check import check  # noqa: PLC0415
    from tallystick.evals.evidence.derived import sets  # noqa: PLC0415
    from tallystick.evals.evidence.manifest import suite  # noqa: PLC0415
    from tallystick.evals.evidence.tables import check_text  # noqa: PLC0415

    console.note("playing reference, other and corrupted paths over every case")
    found = check([*suite(), *(c for cases in sets().values() for c in cases)])
    audit = checkpoints.audit(checkpoints.shipped())
    told = {**found.to_json(), "checkpoints": msgspec.to_builtins(audit)}
    if json:
        console.emit(told)
    else:
        console.say(check_text(told).rstrip("\n"))
    ok = not found.findings and audit.false_acceptance <= 0.02 and audit.false_rejection <= 0.013
    return 0 if ok else 1


@contextlib.contextmanager
def _agent(
    model: str,
    base_url: str | None,
    api_key: str | None,
    harness: str,
    *,
    max_turns: int,
    max_tokens: int,
    temperature: float,
) -> Iterator[tuple[Any, str | None, dict[str, Any]]]:
    """Yield the agent, what it is called, and the settings it is run with."""
    from tallystick.evals.evidence.harness.agents import in_harness, is_scripted, scripted  # noqa: PLC0415
    from tallystick.evals.evidence.harness.chat import ChatModel  # noqa: PLC0415
    from tallystick.models import ChatEndpoint, is_local, local_model  # noqa: PLC0415

    for name, value in (("--max-turns", max_turns), ("--max-tokens", max_tokens)):
        if value < 1:
            raise InputError(f"`{value}` is too few", where=name, fix="1 or more")
    if is_scripted(model):
        if base_url is not None:
            raise InputError("a scripted agent has no endpoint", where="--base-url", fix="leave it out")
        yield scripted(model), None, {}
        return
    endpoint: ChatEndpoint | None = None  # none for a framework's own name of a model, which brings its key
    with contextlib.ExitStack() as stack:
        if is_local(model):
            if base_url is not None:
                raise InputError("a local model has its own endpoint", where="--base-url", fix="leave it out")
            served = stack.enter_context(local_model(model))
            called, asked = f"local:{served.model}", served.model
            endpoint = ChatEndpoint(base_url=served.base_url, api_key=served.api_key, timeout=_REPLY_SECONDS)
        elif base_url is None:
            called = asked = model
        else:
            called = asked = model
            endpoint = ChatEndpoint(base_url=base_url, api_key=api_key, timeout=_REPLY_SECONDS)
        chat: Any = asked
        if endpoint is not None:
            chat = ChatModel(name=asked, endpoint=endpoint, max_tokens=max_tokens, temperature=temperature)
        settings = {
            "model": called, "harness": harness, "max_turns": max_turns, "max_tokens": max_tokens,
            "temperature": temperature,
        }  # fmt: skip
        agent = in_harness(chat, harness, max_turns=max_turns, max_tokens=max_tokens, temperature=temperature)
        yield agent, f"{called}/{harness}", settings


def _behind(
    agent: Any, name: str | None, settings: dict[str, Any], variant: str | None, calls: int
) -> tuple[Any, str | None, dict[str, Any]]:
    """Put an agent behind SCGR where a variant is named; return it, what it is called, and its settings."""
    if variant is None:
        return agent, name, settings
    from tallystick.evals.evidence.harness.scgr import VARIANTS, Scgr  # noqa: PLC0415 - only --scgr needs it
    from tallystick.evals.evidence.harness.scgr_scripted import ScriptedScgr  # noqa: PLC0415
    from tallystick.evals.evidence.scripted import Scripted  # noqa: PLC0415

    wanted = next((v for v in VARIANTS if v == variant), None)
    if wanted is None:
        raise InputError(f"there is no variant `{variant}`", where="--scgr", fix=f"one of {', '.join(VARIANTS)}")
    if calls < 1:
        raise InputError(f"`{calls}` is too few", where="--calls", fix="1 or more")
    settings = {**settings, "scgr": wanted, "calls": calls}
    if isinstance(agent, Scripted):
        front = ScriptedScgr(fault=agent.fault, p=agent.p, seed=agent.seed, variant=wanted, budget=calls)
        return front, None, settings
    return Scgr(agent=agent, variant=wanted, budget=calls), f"{name}/scgr-{wanted}", settings


def _key(name: str | None) -> str | None:
    if name is None:
        return None
    key = os.environ.get(name)
    if not key:
        raise InputError(f"the environment variable `{name}` is empty or not set", where="--api-key-env")
    return key


def _can_resample() -> bool:
    """Whether the bootstrap over scenarios can be computed; without it there are Wilson intervals only."""
    try:
        import numpy  # noqa: F401, PLC0415 - asked for, not used
    except ImportError:
        console.note("no bootstrap over scenarios without numpy: `pip install 'tallystick[evals]'`")
        return False
    return True


def _progress() -> Callable[[int, int], None]:
    """Return what tells about every twentieth of a run on stderr."""

    def tell(done: int, total: int) -> None:
        step = max(1, total // 20)
        if done % step == 0 or done == total:
            console.note(f"{done} of {total} episodes")

    return tell


def _keep(out: Path, told: dict[str, Any], shown: str) -> None:
    from tallystick.evals.evidence.figures import save  # noqa: PLC0415 - only a kept run writes and draws
    from tallystick.evals.evidence.page import page  # noqa: PLC0415
    from tallystick.model import jsontext  # noqa: PLC0415

    (out / "report.json").write_text(jsontext.dumps(told) + "\n", encoding="utf-8")
    (out / "report.txt").write_text(shown, encoding="utf-8")
    (out / "report.html").write_text(page(told), encoding="utf-8")
    try:
        save(told, out / "figures")
    except InputError as bad:
        console.note(f"no figures: {bad}")
    console.note(f"kept in {out}: episodes.jsonl, report.json, report.txt, report.html, figures")
