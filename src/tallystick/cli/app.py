"""The typer application, and what happens to errors: one line on stderr and an exit code, never a traceback.

Exit codes: 0 done and clean; 1 done, and there is something to look at (findings, a record that is damaged or
does not verify, a decision that does not recheck); 2 the input cannot be used; 3 a defect of ours.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Annotated, Any, Final

import typer

from tallystick import __version__
from tallystick.cli import console
from tallystick.cli.audit import audit
from tallystick.cli.blockers import blockers
from tallystick.cli.certificate import certificate
from tallystick.cli.check import check
from tallystick.cli.demo import demo
from tallystick.cli.draft import draft
from tallystick.cli.eval import evals
from tallystick.cli.eval_handoff import handoff
from tallystick.cli.eval_lifecycle import lifecycle, repairs, rollouts
from tallystick.cli.eval_takeover import takeover
from tallystick.cli.eval_tau2 import lifecycle_tau2
from tallystick.cli.eval_termination import termination
from tallystick.cli.files import export, verify
from tallystick.cli.gateway import gateway
from tallystick.cli.keygen import keygen
from tallystick.cli.mine import mine
from tallystick.cli.models import models
from tallystick.cli.people import approve, settle
from tallystick.cli.recheck import recheck
from tallystick.cli.regate import regate
from tallystick.cli.runs import runs
from tallystick.cli.show import show
from tallystick.cli.watch import watch
from tallystick.errors import DamagedError, InputError, TallystickError

DONE: Final = 0
LOOK: Final = 1
BAD_INPUT: Final = 2
DEFECT: Final = 3
INTERRUPTED: Final = 130
READER_GONE: Final = 141
"""What shells report for a writer whose pipe was closed (128 + SIGPIPE)."""

# typer ships its own copy of click since 0.20 and used the package before; its public BadParameter leads to either.
_ClickException: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")

app = typer.Typer(
    name="tallystick",
    help="Evidence, not words: gates, a receipt ledger and audits for tool-using LLM agents.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        console.say(f"tallystick {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        console.say(context.get_help())


# In the list of commands there is room for so much; `COMMAND --help` has the whole text.
for _command, _short in (
    (demo, "The same agent unguarded and guarded, side by side."),
    (audit, "Audit recorded conversations, with or without a contract."),
    (check, "Check contracts: syntax, names, types, expressions."),
    (draft, "Write a first contract from what tools declare."),
    (mine, "Write a first contract from good trajectories."),
    (runs, "List the runs of a ledger."),
    (show, "Show a run or a conversation, event by event."),
    (watch, "Watch a run: its stage, beside what the model says."),
    (regate, "Judge recordings by another stop policy."),
    (recheck, "Make every decision of a run again, and compare."),
    (verify, "Check an export, a ledger or a certificate."),
    (export, "Write a run to a file that ends in a signed head."),
    (certificate, "Write the signed certificate of a CERTIFIED run."),
    (blockers, "List what is blocked in a run, and until what."),
    (settle, "Say what a call in doubt came to."),
    (approve, "Approve, or deny, a call that waits for a principal."),
    (keygen, "Make a signing key and its public half."),
    (gateway, "Stand between an MCP client and an MCP server."),
):
    app.command(short_help=_short)(_command)
evals.command("lifecycle")(lifecycle)
evals.command("handoff")(handoff)
evals.command("lifecycle-rollouts")(rollouts)
evals.command("lifecycle-repairs")(repairs)
evals.command("lifecycle-tau2")(lifecycle_tau2)
evals.command("termination")(termination)
evals.command("takeover")(takeover)
app.add_typer(models, name="models", short_help="Run a small model on this machine, without a key.")
app.add_typer(evals, name="eval", short_help="Benchmarks of agents, scripted or real.")


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit the process with its code."""
    sys.exit(run(args))


def run(args: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    json = "--json" in (sys.argv[1:] if args is None else args)
    try:
        code = app(args=args, prog_name="tallystick", standalone_mode=False)
        sys.stdout.flush()
    except TallystickError as bad:
        console.fail(bad, json=json)
        return LOOK if isinstance(bad, DamagedError) else BAD_INPUT
    except _ClickException as bad:
        console.fail(InputError(bad.format_message()), json=json)
        return BAD_INPUT
    except (KeyboardInterrupt, typer.Abort):
        console.complain("interrupted")
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader went away (`| head`). typer and rich turn that into SystemExit; nothing else here exits. Standard
        # output then leads nowhere, so that the interpreter's last flush does not complain.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
        return READER_GONE
    except OSError as bad:
        where = str(bad.filename) if bad.filename else None
        console.fail(InputError((bad.strerror or str(bad)).lower(), where=where), json=json)
        return BAD_INPUT
    except Exception as bad:  # the last resort, so that a defect of ours is one line too
        if os.environ.get("TALLYSTICK_DEBUG"):
            raise
        console.complain(f"a defect in tallystick: {type(bad).__name__}: {bad}")
        console.note("set TALLYSTICK_DEBUG=1 to see the traceback")
        return DEFECT
    return code if isinstance(code, int) else DONE
