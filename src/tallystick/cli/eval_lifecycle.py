"""`tallystick eval lifecycle`: the frozen suite of progress reports, its studies, and what was kept of them."""

from __future__ import annotations

import contextlib
import importlib.util
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tallystick.cli import console
from tallystick.cli.console import Json
from tallystick.cli.eval import _key
from tallystick.errors import InputError
from tallystick.model import jsontext

_REPLY_SECONDS = 600
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="Who is asked: `scripted:NAME[:P]`, `local`, `local:NAME`, or a model's name with --base-url.",
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option("--base-url", metavar="URL", help="OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1."),
]
KeyEnv = Annotated[
    str | None,
    typer.Option("--api-key-env", metavar="NAME", help="Environment variable that holds the endpoint's key."),
]
Tongue = Annotated[
    str,
    typer.Option("--language", metavar="L", help="zh, or en: English runs are studies of their own, never pooled."),
]
MaxTokens = Annotated[int, typer.Option("--max-tokens", metavar="N", help="Longest reply of a model, in tokens.")]
Temperature = Annotated[
    float | None,
    typer.Option("--temperature", metavar="T", help="Of a model; the endpoint's own where it is left out."),
]
Probes = Annotated[
    int, typer.Option("--probes", metavar="N", help="Short requests first; 18 of 20 must be answered, by that model.")
]


def lifecycle(
    study: Annotated[
        str | None,
        typer.Option(
            "--study",
            metavar="NAME",
            help="main, five_arms, breadth, negative, obligations, demand, thinking, bundle or crossed.",
        ),
    ] = None,
    model: Model = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Count the distinct stimuli of every study and check them; run nothing.")
    ] = False,
    report: Annotated[
        list[Path] | None,
        typer.Option(
            "--report",
            metavar="DIR",
            help="Score the replies kept in a folder; ask nobody. Repeatable: one deployment each.",
        ),
    ] = None,
    base_url: BaseUrl = None,
    api_key_env: KeyEnv = None,
    arm: Annotated[
        list[str] | None, typer.Option("--arm", metavar="NAME", help="Only this arm of the study; repeatable.")
    ] = None,
    language: Tongue = "zh",
    repetitions: Annotated[
        int | None,
        typer.Option("--repetitions", metavar="N", help="Of each stimulus; the study's own number by default."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="At most N stimuli, taken evenly over scenarios.")
    ] = None,
    max_tokens: MaxTokens = 512,
    temperature: Temperature = None,
    thinking_on: Annotated[
        str | None,
        typer.Option(
            "--thinking-on", metavar="JSON", help="Request fields that switch thinking on, for the thinking study."
        ),
    ] = None,
    thinking_off: Annotated[
        str | None, typer.Option("--thinking-off", metavar="JSON", help="Request fields that switch it off.")
    ] = None,
    probes: Probes = 20,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Keep every reply here; an interrupted run goes on from it."),
    ] = None,
    json: Json = False,
) -> int:
    """Measure whether progress reports come where they are due, and name the stage that the runtime's record implies.

    Stimuli are frozen, gold is derived from state before any reply is read, and raw replies are kept, so --report can
    score them again. With --list, exits with 1 where a stimulus is not the frozen one.
    """
    asking = {
        "study": study, "model": model, "arm": arm, "limit": limit, "out": out, "base-url": base_url,
        "api-key-env": api_key_env, "repetitions": repetitions, "temperature": temperature,
        "thinking-on": thinking_on, "thinking-off": thinking_off,
    }  # fmt: skip
    if list_:
        _only("--list", report=report, **asking)
        return _list(language, json=json)
    if report:
        _only("--report", **asking)
        return _report(report, json=json)
    if study is None or model is None or out is None:
        lacking = [n for n, given in (("--study", study), ("--model", model), ("--out", out)) if given is None]
        raise InputError(
            "a study needs it to run" if len(lacking) < 3 else "nothing to run",
            where=", ".join(lacking),
            fix="--study, --model and --out together; or --list; or --report DIR",
        )
    from tallystick.evals.lifecycle.suite.run import Plan, run  # noqa: PLC0415 - only running needs the suite

    plan = Plan(study=study, language=_language(language), arms=tuple(arm or ()), repetitions=repetitions, limit=limit)
    plan.chosen()  # what cannot be asked is said before anything is started
    thinking = {"on": _fields(thinking_on, "--thinking-on"), "off": _fields(thinking_off, "--thinking-off")}
    with answering(
        model, base_url, _key(api_key_env), max_tokens=max_tokens, temperature=temperature, thinking=thinking
    ) as (answerer, settings):
        run(plan, answerer, out, probes=probes, settings=settings, progress=telling("replies"))
    console.note(f"kept in {out}")
    return _report([out], json=json)


def telling(what: str) -> Callable[[int, int], None]:
    """Return what tells about every twentieth of a run on stderr."""

    def tell(done: int, total: int) -> None:
        if done % max(1, total // 20) == 0 or done == total:
            console.note(f"{done} of {total} {what}")

    return tell


def _only(option: str, **others: Any) -> None:
    """Refuse what would be passed over in silence.

    Raises:
        InputError: an option stands beside one that makes it do nothing.
    """
    given = [f"--{name.replace('_', '-')}" for name, value in others.items() if value is not None]
    if given:
        raise InputError(f"beside `{option}`, {', '.join(given)} would do nothing", where=option, fix="leave it out")


def _language(name: str) -> Any:
    if name not in ("zh", "en"):
        raise InputError(f"there is no language `{name}`", where="--language", fix="one of: zh, en")
    return name


def _list(language: str, *, json: bool) -> int:
    from tallystick.evals.lifecycle.suite.manifest import listing  # noqa: PLC0415 - only this renders every study

    told = listing(_language(language))
    if json:
        console.emit(told)
    else:
        for name, count in told["studies"].items():
            console.say(f"{name:16} {count:4} distinct stimuli")
        console.say(f"manifests {'kept' if told['manifest_ok'] else 'BROKEN: a stimulus or key is not the frozen one'}")
    return 0 if told["manifest_ok"] else 1


@contextlib.contextmanager
def answering(
    model: str,
    base_url: str | None,
    api_key: str | None,
    *,
    max_tokens: int,
    temperature: float | None,
    thinking: Mapping[str, Mapping[str, Any] | None] | None = None,
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield who answers stimuli, and the settings it is run with."""
    from tallystick.evals.lifecycle.suite.reporters import is_scripted, scripted  # noqa: PLC0415

    if is_scripted(model):
        if base_url is not None:
            raise InputError("a scripted reporter has no endpoint", where="--base-url", fix="leave it out")
        yield scripted(model), {}
        return
    with deployment(
        model, base_url, api_key, max_tokens=max_tokens, temperature=temperature, thinking=thinking
    ) as found:
        yield found


@contextlib.contextmanager
def deployment(
    model: str,
    base_url: str | None,
    api_key: str | None,
    *,
    max_tokens: int,
    temperature: float | None,
    thinking: Mapping[str, Mapping[str, Any] | None] | None = None,
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield a model behind an endpoint, served here where it is a local one, and its settings."""
    from tallystick.evals.lifecycle.suite.asking import THINKING, Deployment  # noqa: PLC0415
    from tallystick.models import ChatEndpoint, is_local, local_model  # noqa: PLC0415

    if max_tokens < 1:
        raise InputError(f"`{max_tokens}` is too few", where="--max-tokens", fix="1 or more")
    if temperature is not None and not 0 <= temperature < math.inf:
        raise InputError(f"`{temperature}` is no temperature", where="--temperature", fix="0 or more")
    toggles = {lane: (thinking or {}).get(lane) or THINKING[lane] for lane in THINKING}
    settings = {"max_tokens": max_tokens, "temperature": temperature, "thinking": toggles}
    with contextlib.ExitStack() as stack:
        if is_local(model):
            if base_url is not None:
                raise InputError("a local model has its own endpoint", where="--base-url", fix="leave it out")
            served = stack.enter_context(local_model(model))
            name, asked = f"local:{served.model}", served.model
            endpoint = ChatEndpoint(base_url=served.base_url, api_key=served.api_key, timeout=_REPLY_SECONDS)
        elif base_url is None:
            raise InputError(
                f"the model `{model}` needs an endpoint", where="--model",
                fix="name one with --base-url, or use `local` or `scripted:NAME`",
            )  # fmt: skip
        else:
            name = asked = model
            endpoint = ChatEndpoint(base_url=base_url, api_key=api_key, timeout=_REPLY_SECONDS)
        yield (
            Deployment(
                name=name, asked=asked, endpoint=endpoint, max_tokens=max_tokens, temperature=temperature,
                thinking=toggles,
            ),
            settings,
        )  # fmt: skip


def _fields(text: str | None, option: str) -> Mapping[str, Any] | None:
    if text is None:
        return None
    found = jsontext.loads(text, where=option)
    if not isinstance(found, dict):
        raise InputError("not a JSON object", where=option, fix='such as {"reasoning_effort": "high"}')
    return found


def _report(folders: list[Path], *, json: bool) -> int:
    from tallystick.evals.lifecycle.figures import save  # noqa: PLC0415 - only this scores and draws
    from tallystick.evals.lifecycle.suite.report import report, text  # noqa: PLC0415

    told = report(folders, fit=_can_fit())
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


def _can_fit() -> bool:
    """Whether the two models of the main study can be fitted; without it they are left out, and that is said."""
    if importlib.util.find_spec("statsmodels") is None:
        console.note("no mixed model and no GEE without statsmodels: `pip install 'tallystick[evals]'`")
        return False
    return True


def rollouts(
    model: Model = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="DIR", help="Report the sessions kept in a folder; play none.")
    ] = None,
    base_url: BaseUrl = None,
    api_key_env: KeyEnv = None,
    gate: Annotated[
        list[str] | None,
        typer.Option(
            "--gate",
            metavar="NAME",
            help="B1, B2, A, A-matched (those four by default), B2-reports, A-stop; repeatable.",
        ),
    ] = None,
    language: Tongue = "zh",
    repetitions: Annotated[
        int, typer.Option("--repetitions", metavar="N", help="Of each scenario under each gate.")
    ] = 6,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="At most N sessions under each gate.")
    ] = None,
    turn_cap: Annotated[int, typer.Option("--turn-cap", metavar="N", help="Agent turns in one session.")] = 12,
    max_tokens: MaxTokens = 512,
    temperature: Temperature = None,
    probes: Probes = 20,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Keep every session here; an interrupted run goes on from it."),
    ] = None,
    json: Json = False,
) -> int:
    """Roll an agent out in the validating environment under each stop policy: what becomes of the task?

    Tools are dispatched for real and success is read from state. An independent reader of the kept sessions confirms
    outcomes; exits with 1 where it does not, such as a session that a runtime-owned gate ended unfinished.
    """
    from tallystick.evals.lifecycle.rollouts import table  # noqa: PLC0415 - only this plays and reads sessions
    from tallystick.evals.lifecycle.rollouts.agents import scripted_agent  # noqa: PLC0415
    from tallystick.evals.lifecycle.rollouts.rolling import ModelAgent, Tour, read, roll  # noqa: PLC0415
    from tallystick.evals.lifecycle.suite.reporters import is_scripted  # noqa: PLC0415

    if report is not None:
        _only("--report", model=model, gate=gate, limit=limit, out=out)
        found = read(report)
    elif model is None or out is None:
        raise InputError("nothing to run", where="--model", fix="--model and --out together; or --report DIR")
    else:
        tour = Tour(
            gates=tuple(gate or ()), language=_language(language), repetitions=repetitions, limit=limit,
            turn_cap=turn_cap,
        )  # fmt: skip
        tour.chosen()
        progress = telling("sessions")
        if is_scripted(model):
            if base_url is not None:
                raise InputError("a scripted agent has no endpoint", where="--base-url", fix="leave it out")
            found = roll(tour, scripted_agent(model), out, progress=progress)
        else:
            with deployment(model, base_url, _key(api_key_env), max_tokens=max_tokens, temperature=temperature) as (
                asked,
                settings,
            ):
                agent = ModelAgent(deployment=asked)
                found = roll(tour, agent, out, probes=probes, settings=settings, progress=progress)
        console.note(f"kept in {out}")
    told = table.told(found)
    if json:
        console.emit(told)
    else:
        console.say(table.text(told).rstrip("\n"))
    return 1 if told["reader"]["disagreements"] else 0


def repairs(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a kept study, as `--out` of it named.")],
    model: Model = None,
    base_url: BaseUrl = None,
    api_key_env: KeyEnv = None,
    repair: Annotated[
        list[str] | None,
        typer.Option(
            "--repair",
            metavar="NAME",
            help="replay, replay_newline, question, question_wrong or marker_removed; all by default, repeatable.",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="At most N stored replies for each repair.")
    ] = None,
    max_tokens: MaxTokens = 512,
    temperature: Temperature = None,
    json: Json = False,
) -> int:
    """Ask again about stored replies whose report was omitted or wrong, and count what comes right.

    Without --model nothing is asked: what is kept is reported. Each repair has a population of its own.
    """
    from tallystick.evals.lifecycle.suite import repairs as its  # noqa: PLC0415 - only this repairs

    wanted = its.all_or(repair or ())
    if limit is not None and limit < 1:
        raise InputError(f"`{limit}` is too few", where="--limit", fix="1 or more")
    if model is None:
        _only("reading what is kept", repair=repair, limit=limit)
    else:
        with answering(model, base_url, _key(api_key_env), max_tokens=max_tokens, temperature=temperature) as (
            answerer,
            _,
        ):
            for one in wanted:
                console.note(one)
                its.run(one, answerer, folder, limit=limit, progress=telling("replies"))
    told = its.told(folder)
    if json:
        console.emit(told)
    else:
        console.say(its.text(told).rstrip("\n"))
    return 0
