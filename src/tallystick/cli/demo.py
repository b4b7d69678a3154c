"""`tallystick demo`: the same agent unguarded and guarded, side by side."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tallystick.cli.console import Json
from tallystick.errors import InputError


def demo(
    ledger: Annotated[
        Path | None, typer.Option("--ledger", metavar="FILE", help="Keep the guarded run in this ledger file.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="Let this model be the agent: `local` or `local:NAME`, or any with --base-url.",
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
    faults: Annotated[
        str,
        typer.Option(
            "--faults",
            metavar="LIST",
            help="What goes wrong at the desk: all, none, or a list of timeout, nested-error, second-page, stale-read.",
        ),
    ] = "all",
    json: Json = False,
) -> int:
    """Run the same agent twice on a simulated invoice desk, unguarded and guarded, and compare.

    Offline and scripted unless --model is given. The table says what the desks' databases and the ledger say.
    """
    from tallystick.demo.desk import faults_of  # noqa: PLC0415 - only this command needs the demo world
    from tallystick.demo.show import run_demo  # noqa: PLC0415
    from tallystick.models import is_local, local_model  # noqa: PLC0415 - nor models

    api_key, planned = _key(api_key_env), faults_of(faults)
    with contextlib.ExitStack() as stack:
        if base_url is None and model is not None and is_local(model):
            served = stack.enter_context(local_model(model))
            model, base_url, api_key = served.model, served.base_url, served.api_key
        return run_demo(
            out=sys.stdout,
            ledger=ledger,
            model=model,
            base_url=base_url,
            api_key=api_key,
            faults=planned,
            json=json,
        )


def _key(name: str | None) -> str | None:
    if name is None:
        return None
    key = os.environ.get(name)
    if not key:
        raise InputError(f"the environment variable `{name}` is empty or not set", where="--api-key-env")
    return key
