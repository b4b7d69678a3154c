"""Runs what the pages show, so that no page describes what is not there.

In a page, in order, in one temporary folder:

- a fence `python` is executed; all of a page's share one namespace;
- a fence `LANGUAGE file=NAME` is written to NAME;
- a fence `console` holds `$ command` lines, each run by bash; the lines under it must appear in what it prints (both
  streams), in that order; `...` stands for anything; `$ command  # exits with 1` expects that exit code;
- a fence `yaml` that starts with `contract:` must load as a contract.

Other fences (`text`, `bash`) are shown only; what they name is checked by `test_pages.py`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```\s*$", re.MULTILINE | re.DOTALL)
EXIT = re.compile(r"\s+# exits with (\d+)$")


@dataclass(frozen=True, kw_only=True)
class Snippet:
    """One fenced block: language, file it is saved as (or ""), text, and its 1-based line in the page."""

    language: str
    file: str
    text: str
    line: int


def snippets(page: str) -> Iterator[Snippet]:
    """Yield the fenced blocks of `page` in order."""
    for found in FENCE.finditer(page):
        language, *options = found["info"].split() or [""]
        file = next((o.removeprefix("file=") for o in options if o.startswith("file=")), "")
        yield Snippet(
            language=language, file=file, text=found["body"], line=page.count("\n", 0, found.start("body")) + 1
        )


def run_page(path: Path) -> int:
    """Run the snippets of the page at `path` in the current folder; return how many ran.

    Raises:
        AssertionError: a snippet failed, or printed something else than the page shows.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for snippet in snippets(path.read_text(encoding="utf-8")):
        where = f"{path}:{snippet.line}"
        if snippet.file:
            Path(snippet.file).write_text(snippet.text, encoding="utf-8")
        if snippet.language == "python":
            # The page's own line numbers, so that a traceback points into the page.
            exec(compile("\n" * (snippet.line - 1) + snippet.text, str(path), "exec"), names)
        elif snippet.language == "console":
            run_console(snippet.text, where)
        elif snippet.language == "yaml" and snippet.text.startswith("contract:"):
            check_contract(snippet.text, where)
        else:
            continue
        count += 1
    return count


def run_console(text: str, where: str) -> None:
    """Run each `$ command` of a console block and compare what it prints."""
    chunks = re.split(r"^\$ ", text, flags=re.MULTILINE)
    assert not chunks[0].strip(), f"{where}: a console block starts with `$ `"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "120"}
    for chunk in chunks[1:]:
        command, _, shown = chunk.partition("\n")
        wanted = int(found[1]) if (found := EXIT.search(command)) else 0
        command = EXIT.sub("", command)
        done = subprocess.run(
            ["bash", "-c", command], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        printed = done.stdout + done.stderr
        assert done.returncode == wanted, f"{where}: `{command}` exited with {done.returncode}:\n{printed}"
        rest = [line.strip() for line in printed.splitlines()]
        for line in filter(None, (line.strip() for line in shown.splitlines())):
            if line == "...":
                continue
            match = next((i for i, got in enumerate(rest) if matches(line, got)), None)
            assert match is not None, f"{where}: `{command}` does not print `{line}`, but:\n{printed}"
            rest = rest[match + 1 :]


def matches(shown: str, got: str) -> bool:
    """Return whether `got` is `shown`, where `...` in `shown` stands for anything and runs of blanks are one."""
    pattern = ".*".join(re.escape(" ".join(part.split())) for part in shown.split("..."))
    return re.fullmatch(pattern.replace(r"\ .*", r"\ ?.*"), " ".join(got.split())) is not None


def check_contract(text: str, where: str) -> None:
    """Load a contract shown in a page."""
    from tallystick import contracts

    contracts.parse(text, where)
