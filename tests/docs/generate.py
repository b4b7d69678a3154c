"""Writes the reference pages that are read off the program: `make docs`. `test_reference.py` holds them in step."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ForwardRef, get_args

import msgspec
import typer.main

import tallystick
from tallystick.certificates.schema import schema_text
from tallystick.cli.app import app
from tallystick.evals.lifecycle.survey import page as survey_page
from tallystick.handoff import Carrier
from tallystick.model.events import Event
from tallystick.model.proposal import StopOutcome
from tallystick.runtime.outcome import Status
from tallystick.runtime.wrap import OnRefusal

ROOT = Path(__file__).resolve().parents[2]
NOTE = "<!-- Written by `make docs`; do not edit. -->\n\n"
CLI_INTRO = """\
# Command line

Results go to stdout; progress, hints and errors to stderr. Colour follows the terminal and `NO_COLOR`.

With `--json`, stdout is exactly one JSON object and nothing else. Where the command could not go on, because of bad
input (exit code 2) or a damaged record (1), it is `{"error": {"message", "where", "fix"}}`, with `problems` where a
contract is invalid. `audit` and `check` go on after a file that cannot be used, so their usual object names it
(`errors`, `files[].problems`). On 3, 130 and 141 it may be missing or cut. Without `--json`, stdout is empty where
nothing could be done.

One rule for what is recorded: where a ledger or an export is damaged, cut off or forged, `verify`, `show`, `recheck`
and every other reader exit with 1. What is no ledger and no export, or an SQLite file that lacks a ledger's tables, is
bad input (2); but of a file that is not SQLite's, `verify` says no more than that it does not verify (1).

Events in `show --json` follow [the schema of events](events.schema.json); the `decision` of a refusal and of a stop is
there as an object, and is canonical JSON text in the record itself. A reason's `reverses` is what an agent is told as
`what_would_help`; [every code](reason-codes.md) has a sentence.

| exit code | meaning |
| --- | --- |
| 0 | done, and clean |
| 1 | there is something to look at: findings (errors or warnings), a damaged record, what does not verify or recheck |
| 2 | the input cannot be used; stderr says what, where and what would be right |
| 3 | a defect of ours; `TALLYSTICK_DEBUG=1` shows the traceback |
| 130 | interrupted |
| 141 | the reader of our output went away |
"""


def pages() -> dict[Path, str]:
    """Each generated page's path and text."""
    folder = ROOT / "docs" / "reference"
    return {
        folder / "cli.md": cli_page(),
        folder / "api.md": api_page(),
        folder / "events.schema.json": events_schema(),
        folder / "certificate.schema.json": schema_text(),
        folder / "carrier.schema.json": carrier_schema(),
        ROOT / "docs" / "explanation" / "who-ends-the-loop.md": NOTE + survey_page(),
    }


def events_schema() -> str:
    """JSON Schema (2020-12) of an event of the ledger, one line of an export, as its types say it."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An event of a tallystick ledger",
        **msgspec.json.schema(Event),
    }
    return json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def carrier_schema() -> str:
    """JSON Schema (2020-12) of a carrier's typed data, as its types say it."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What travels beside an artifact: the carrier of a run's open blockers",
        **msgspec.json.schema(Carrier),
    }
    return json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def cli_page() -> str:
    """The command line: every command with its arguments and options."""
    parts = [NOTE + CLI_INTRO]
    parts += [command_section(name, command) for name, command in commands(typer.main.get_command(app))]
    return "\n".join(parts)


def commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its full name, those of groups after the group's own section."""
    for name, command in group.commands.items():
        yield prefix + name, command
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix}{name} ")


def command_section(name: str, command: Any) -> str:
    """One command: usage, help, and a row for each parameter."""
    visible = [p for p in command.params if not getattr(p, "hidden", False) and p.name != "help"]
    arguments = [p for p in visible if p.param_type_name == "argument"]
    takes = ["COMMAND"] if hasattr(command, "commands") else ["[OPTIONS]"]
    usage = " ".join(["tallystick", name, *takes, *(argument_name(p) for p in arguments)])
    lines = [f"## tallystick {name}\n", f"```text\n{usage}\n```\n", inspect.cleandoc(command.help or "") + "\n"]
    if visible:
        lines += ["| parameter | meaning |", "| --- | --- |"]
        lines += [f"| {spelling(p)} | {meaning(p)} |" for p in visible]
        lines.append("")
    return "\n".join(lines)


def argument_name(parameter: Any) -> str:
    """How an argument stands in the usage line."""
    name = (parameter.metavar or parameter.name).upper() + ("..." if parameter.nargs == -1 else "")
    return name if parameter.required else f"[{name}]"


def spelling(parameter: Any) -> str:
    """How a parameter is typed."""
    if parameter.param_type_name == "argument":
        return f"`{argument_name(parameter)}`"
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    return names + ("" if parameter.is_flag else f" *{parameter.metavar or 'VALUE'}*")


def meaning(parameter: Any) -> str:
    """Help and default, on one line."""
    text = " ".join((parameter.help or "").split()).replace("|", "\\|")
    default = parameter.default
    if parameter.required and parameter.param_type_name == "option":
        return f"{text} Required."
    if default in (None, False, ()) or callable(default) or default == [] or parameter.required:
        return text
    return f"{text} Default: `{getattr(default, 'value', default)}`."


def api_page() -> str:
    """The public names: signature and docstring of each name in `tallystick.__all__`."""
    parts = [NOTE + "# Public names\n", "What `import tallystick` promises to keep. Everything else may change.\n"]
    for name in sorted(tallystick.__all__):
        thing = getattr(tallystick, name)
        if inspect.ismodule(thing):
            head, doc = f"module tallystick.{name}", thing.__doc__
        elif callable(thing):
            head, doc = f"{'class ' if inspect.isclass(thing) else ''}{name}{signature(thing)}", thing.__doc__
        else:
            head, doc = f"{name}: {type(thing).__name__}", None
        parts.append(f"## {name}\n\n```text\n{head}\n```\n")
        if doc:
            parts.append(f"```text\n{inspect.cleandoc(doc)}\n```\n")
        if inspect.isclass(thing) and not issubclass(thing, BaseException):
            parts += [member(name, key, value) for key, value in members(thing).items()]
    parts.append(value_section())
    return "\n".join(parts)


def members(owner: type) -> dict[str, Any]:
    """The public members of a class, those of our own base classes too, each once."""
    found: dict[str, Any] = {}
    for base in owner.__mro__:
        if base.__module__.startswith("tallystick"):
            found |= {key: value for key, value in vars(base).items() if key not in found and shown(key, value)}
    return found


def shown(key: str, value: Any) -> bool:
    """Whether a member of a public class is public and has something to say."""
    function = value.fget if isinstance(value, property) else value
    return not key.startswith("_") and (inspect.isfunction(function) or isinstance(value, (classmethod, staticmethod)))


def member(owner: str, key: str, value: Any) -> str:
    """A method or property: signature, the first paragraph of its docstring, and the rest, where there is more."""
    first, _, rest = inspect.cleandoc(inspect.getdoc(value) or "").partition("\n\n")
    first = first.replace("\n", " ")
    more = f"\n```text\n{rest.strip()}\n```\n" if rest.strip() else ""
    if isinstance(value, property):
        return f"**`{owner}.{key}`** {first}\n{more}"
    function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
    return f"**`{owner}.{key}{signature(function)}`** {first}\n{more}"


def value_section() -> str:
    """The values of the literal types that signatures name."""
    lines = ["## Values\n", "What the signatures above mean by these names.\n", "| name | values |", "| --- | --- |"]
    for name, literal in {"OnRefusal": OnRefusal, "Status": Status, "StopOutcome": StopOutcome}.items():
        lines.append(f"| `{name}` | {', '.join(f'`{value}`' for value in get_args(literal))} |")
    return "\n".join(lines) + "\n"


class Written:
    """An annotation that shows as it is written in the source, without the quotes of its text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def signature(thing: Any) -> str:
    """The signature as written, or nothing where there is none."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    parameters = [p.replace(annotation=written(p.annotation)) for p in found.parameters.values()]
    return str(found.replace(parameters=parameters, return_annotation=written(found.return_annotation)))


def written(annotation: Any) -> Any:
    """The annotation, where it is text as it stands in the source; named tuples wrap theirs."""
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    return Written(annotation) if isinstance(annotation, str) else annotation


def main() -> None:
    """Write every generated page."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
