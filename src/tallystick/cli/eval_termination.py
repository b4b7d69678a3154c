"""`tallystick eval termination`: when an agent may stop, on snapshots of recorded runs and in a closed loop."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tallystick.cli import console
from tallystick.cli.console import Json
from tallystick.cli.eval import _key
from tallystick.errors import InputError
from tallystick.model import jsontext

if TYPE_CHECKING:
    from tallystick.evals.termination.critic import Critic

_REPLY_SECONDS = 600


def termination(
    static: Annotated[
        bool, typer.Option("--static", help="Ask every policy for a verdict on every snapshot of 48 recorded tasks.")
    ] = False,
    closed_loop: Annotated[
        bool, typer.Option("--closed-loop", help="Let an agent act again on each verdict: 576 trajectories.")
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="Who is the model of the study: `local`, `local:NAME`, or a model's name with --base-url.",
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option("--base-url", metavar="URL", help="OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1."),
    ] = None,
    api_key_env: Annotated[
        str | None,
        typer.Option("--api-key-env", metavar="NAME", help="Environment variable that holds the endpoint's key."),
    ] = None,
    seed: Annotated[
        str | None, typer.Option("--seed", metavar="TEXT", help="Draw other tasks of the same make, for held-out use.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="Of the closed loop: at most N task clusters.")
    ] = None,
    repetitions: Annotated[
        int | None, typer.Option("--repetitions", metavar="N", help="Of the closed loop: of each checkpoint; 3 else.")
    ] = None,
    temperature: Annotated[
        float | None, typer.Option("--temperature", metavar="T", help="Of the model in the closed loop; 0 else.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Keep report, figures and answers here; an interrupted run goes on from it."
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Measure when an agent may stop: unsafe completions, clean refusals and false alarms of seven policies.

    The static study runs six deterministic policies, reconstructed from the paper's counts, over clean runs and nine
    faults, switches each check of the verifier off in turn, and plays a fault per check that only it sees. Published
    figures stand beside, marked. The full-trace critic needs a model and is null without one.
    """
    if static == closed_loop:
        raise InputError(
            "both studies were asked for" if static else "no study was asked for",
            where="--static, --closed-loop", fix="name one of the two",
        )  # fmt: skip
    if model is None and (base_url is not None or api_key_env is not None):
        raise InputError("there is no model to reach", where="--base-url, --api-key-env", fix="name one with --model")
    looped = {"limit": limit, "repetitions": repetitions, "temperature": temperature}
    given = {name: value for name, value in looped.items() if value is not None}
    if static and given:
        raise InputError(
            "this belongs to the closed loop",
            where=", ".join(f"--{n}" for n in given),
            fix="leave it out, or --closed-loop",
        )
    if temperature is not None and model is None:
        raise InputError("scripted agents have no temperature", where="--temperature", fix="name a model with --model")
    with _critic(model, base_url, _key(api_key_env)) as critic:
        told, shown = _static(seed, critic, out) if static else _closed_loop(seed, critic, out, given)
    if json:
        console.emit(told)
    else:
        console.say(shown.rstrip("\n"))
    return 0 if told.get("manifest_ok") is not False else 1


def _static(seed: str | None, critic: Critic | None, out: Path | None) -> tuple[dict[str, Any], str]:
    from tallystick.evals.termination.figures import save  # noqa: PLC0415 - only running needs the study
    from tallystick.evals.termination.static import static  # noqa: PLC0415
    from tallystick.evals.termination.tables import text  # noqa: PLC0415
    from tallystick.evals.termination.tasks import SEED  # noqa: PLC0415

    told = static(seed=seed or SEED, critic=critic, out=out, progress=_progress("snapshots judged by the model"))
    shown = text(told)
    if out is not None:
        _keep(out, told, shown, save)
    return told, shown


def _closed_loop(
    seed: str | None, critic: Critic | None, out: Path | None, given: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    from tallystick.evals.termination import closed  # noqa: PLC0415 - only running needs the study

    told = closed.run(seed=seed, critic=critic, out=out, progress=_progress("trajectories"), **given)
    shown = closed.text(told)
    if out is not None:
        _keep(out, told, shown, closed.save)
    return told, shown


def _keep(out: Path, told: dict[str, Any], shown: str, save: Callable[[dict[str, Any], Path], Any]) -> None:
    """Write report and figures; without matplotlib, say that there are none."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.json").write_text(jsontext.dumps(told) + "\n", encoding="utf-8")
    (out / "report.txt").write_text(shown, encoding="utf-8")
    try:
        save(told, out / "figures")
    except InputError as bad:
        console.note(f"no figures: {bad}")
    console.note(f"kept in {out}: report.json, report.txt, figures")


@contextlib.contextmanager
def _critic(model: str | None, base_url: str | None, api_key: str | None) -> Iterator[Critic | None]:
    """Yield the model that was named, ready to be asked; None where none was."""
    if model is None:
        yield None
        return
    from tallystick.evals.termination.critic import Critic  # noqa: PLC0415 - only a model needs them
    from tallystick.models import ChatEndpoint, is_local, local_model  # noqa: PLC0415

    if is_local(model):
        if base_url is not None:
            raise InputError("a local model has its own endpoint", where="--base-url", fix="leave it out")
        with local_model(model) as served:
            endpoint = ChatEndpoint(base_url=served.base_url, api_key=served.api_key, timeout=_REPLY_SECONDS)
            yield Critic(name=served.model, called=f"local:{served.model}", endpoint=endpoint)
        return
    if base_url is None:
        raise InputError(f"where `{model}` answers is not said", where="--model", fix="--base-url, or `local`")
    endpoint = ChatEndpoint(base_url=base_url, api_key=api_key, timeout=_REPLY_SECONDS)
    yield Critic(name=model, called=model, endpoint=endpoint)


def _progress(what: str) -> Callable[[int, int], None]:
    """Return what tells about every twentieth of a run on stderr."""

    def tell(done: int, total: int) -> None:
        step = max(1, total // 20)
        if done % step == 0 or done == total:
            console.note(f"{done} of {total} {what}")

    return tell
