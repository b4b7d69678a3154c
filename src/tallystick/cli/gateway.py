"""`tallystick gateway`: a gate in front of any MCP server."""

from __future__ import annotations

import gc
import os
import shutil
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from tallystick.cli import console
from tallystick.cli.recordings import encoding_named
from tallystick.contracts import load, load_task
from tallystick.errors import InputError
from tallystick.gateway.start import check_same_task, unfinished
from tallystick.model.plaintext import printable
from tallystick.runtime.guard import Guard
from tallystick.runtime.run import Run

WARNINGS: Final = 5
"""Runs named at a start, at most."""


def gateway(
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- COMMAND...", help="The MCP server to start, and its arguments, after `--`."),
    ],
    contract: Annotated[Path, typer.Option("--contract", metavar="FILE", help="The contract its tools stand under.")],
    ledger: Annotated[
        Path | None,
        typer.Option(
            "--ledger", metavar="FILE", help="The ledger file, made when missing. Without it nothing is kept."
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="ID", help="Take up this run where the ledger has it, else start it."),
    ] = None,
    task: Annotated[
        Path | None,
        typer.Option("--task", metavar="FILE", help="What the run owes: a task file; of a run that exists, the same."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Take the run over although another process still holds it.")
    ] = False,
    keep_open: Annotated[
        bool,
        typer.Option("--keep-open", help="Leave an unfinished run open at the end, to go on with it under --run."),
    ] = False,
    without_approvers: Annotated[
        bool,
        typer.Option(
            "--without-approvers", help="Start a run although nobody can approve some calls; these are held to the end."
        ),
    ] = False,
    explicit_claims: Annotated[
        bool,
        typer.Option("--explicit-claims", help="Never read the text of a final answer for what it states."),
    ] = False,
    report: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="E",
            help="The agent was asked to report its stage, as xml or json: compare what final answers report.",
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="SECONDS", help="Give a call up after this time; a write is then in doubt."),
    ] = None,
    http: Annotated[
        bool, typer.Option("--http", help="Serve streamable HTTP at /mcp instead of standard input and output.")
    ] = False,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Where --http listens; beyond loopback only with a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", help="Port of --http; 0 takes a free one.")] = 8765,
    token_env: Annotated[
        str | None,
        typer.Option("--token-env", metavar="NAME", help="Environment variable with the token --http demands."),
    ] = None,
) -> int:
    """Stand between an MCP client and an MCP server, and let a tool call pass only if the record supports it.

    Put it where the client's configuration names the server. Every other message is relayed as it is; two tools are
    added, `tallystick_status` and `tallystick_finish`. At the end of the session the run ends with its honest status,
    told on stderr. Exits with 1 where the server ended first.
    """
    if os.name != "posix":
        raise InputError("the gateway needs POSIX pipes", fix="run it on Linux or macOS, or under WSL")
    if not command:
        raise InputError("no server was named", fix="give COMMAND and its arguments after `--`")
    if timeout is not None and timeout <= 0:
        raise InputError(f"a timeout of `{timeout:g}` seconds", where="--timeout", fix="more than 0")
    if keep_open and ledger is None:
        raise InputError(
            "nothing is kept without a ledger, so no run can be left open",
            where="--keep-open",
            fix="give `--ledger FILE`",
        )
    token = _token(token_env)
    if not http and token_env is not None:
        raise InputError("`--token-env` is for `--http`", fix="leave it out")
    if shutil.which(command[0]) is None:
        raise InputError("there is no such program", where=command[0], fix="give COMMAND after `--`")
    listener = None
    if http:
        from tallystick.gateway.http import listen  # noqa: PLC0415 - only --http needs a web server

        listener = listen(host, port, token)
    encoding = encoding_named(report, where="--report") if report is not None else None
    with Guard(load(contract), ledger, claims_from_text=not explicit_claims, report=encoding) as guard:
        started = _run(guard, run, task, force=force, without_approvers=without_approvers)
        console.note(f"run {started.id}: relaying to {command[0]}")
        _warn(guard, started, named=run is not None)
        # What is loaded by now stays; looking through it for garbage again and again would only delay calls.
        gc.collect()
        gc.freeze()
        gc.set_threshold(10_000, 20, 50)
        try:
            if listener is not None:
                from tallystick.gateway.http import serve as serve_http  # noqa: PLC0415

                why = serve_http(started, command, listener, token=token, timeout=timeout, say=console.note)
            else:
                from tallystick.gateway.stdio import serve  # noqa: PLC0415

                why = serve(started, command, timeout=timeout)
        except BaseException:
            started.close("run.exception")
            raise
        status = _leave(started, why, keep_open=keep_open)
        console.note(f"run {started.id}: {status}; the session ended by the {why}")
        # Standard output belongs to the client; what a library left in its buffer must not follow the last message.
        sys.stdout.flush()
        return 1 if why == "server" else 0


def _token(name: str | None) -> str | None:
    if name is None:
        return None
    token = os.environ.get(name)
    if not token:
        raise InputError(f"the environment variable `{name}` is empty or not set", where="--token-env")
    return token


def _run(guard: Guard, run: str | None, task: Path | None, *, force: bool, without_approvers: bool) -> Run:
    if run is not None and guard.store.head(run).seq:
        if task is not None:
            check_same_task(guard, run, task)
        return guard.resume(run, force=force)
    owed = load_task(task, guard.contract) if task is not None else None
    try:
        return guard.run(owed, run_id=run, without_approvers=without_approvers)
    except InputError as bad:
        if bad.where != "principals":
            raise
        raise InputError(
            bad.message,
            where="--task",
            fix="name one in the task file, `principals: [{id, role, public_key}]` with the key that `tallystick "
            "keygen` prints, or give `--without-approvers` to start all the same",
        ) from None


def _warn(guard: Guard, started: Run, *, named: bool) -> None:
    """Say which other runs of this contract may have had effects that this one knows nothing about."""
    found = unfinished(guard, started.id)
    for said in found[:WARNINGS]:
        console.note(printable(f"warning: {said}"))
    if len(found) > WARNINGS:
        console.note(f"warning: and {len(found) - WARNINGS} more; `tallystick runs` lists them")
    if found:
        why = "" if named else "; without `--run` every start makes a new run"
        console.note(f"warning: run {started.id} knows nothing of what they did, and may do it again{why}")


def _leave(run: Run, why: str, *, keep_open: bool) -> str:
    if keep_open and run.status is None:
        run.suspend()
        return "left open"
    return run.close(f"gateway.{why}_ended") or "not ended in the record"
