"""A model served on loopback for the length of a `with` block."""

from __future__ import annotations

import contextlib
import importlib.resources
import importlib.util
import secrets
import subprocess
import sys
import tempfile
import threading
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.models.cache import checked_weights
from tallystick.models.catalogue import model_of
from tallystick.models.endpoint import ChatEndpoint
from tallystick.models.pip import OTHER_ENDPOINT

START_SECONDS: Final = 120.0
"""How long a server may take to load its weights."""
STOP_SECONDS: Final = 5.0
"""How long it may take to go before it is killed."""
MAX_TOKENS: Final = 256
"""Longest reply where a request names no limit, in tokens."""
_PREFIX: Final = "local"


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalEndpoint:
    """Where a local model answers.

    Attributes:
        base_url: e.g. `http://127.0.0.1:40123/v1`.
        api_key: made for this server, gone with it.
        model: what to name in requests.
        pid: the server's process id.
    """

    base_url: str
    api_key: str = field(repr=False)
    model: str
    pid: int

    def complete(self, body: Mapping[str, Any], *, timeout: int = 600) -> Any:
        """Post one chat completion request and return the reply; the model's name is filled in."""
        return self._chat(timeout).complete({"model": self.model, **body})

    def constrained(
        self,
        messages: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any],
        *,
        max_tokens: int = MAX_TOKENS,
        timeout: int = 600,
    ) -> Any:
        """Return the JSON value the model answers under `schema`. See `ChatEndpoint.constrained`."""
        return self._chat(timeout).constrained(self.model, messages, schema, max_tokens=max_tokens)

    def _chat(self, timeout: int) -> ChatEndpoint:
        return ChatEndpoint(base_url=self.base_url, api_key=self.api_key, timeout=timeout)


def is_local(name: str | None) -> bool:
    """Return whether `--model NAME` asks for a local model: `local`, or `local:` and a name."""
    return name is not None and (name == _PREFIX or name.startswith(f"{_PREFIX}:"))


@contextlib.contextmanager
def local_model(name: str = "", *, start_seconds: float = START_SECONDS) -> Iterator[LocalEndpoint]:
    """Serve a fetched model on loopback until the block is left; the server also goes when this process is killed.

    Args:
        name: a name of the catalogue, with or without `local:`; "" and `local` are the default model.
        start_seconds: how long loading may take.

    Raises:
        InputError: no such model, weights not fetched or damaged, the engine is not installed or does not start.
    """
    model = model_of(name.removeprefix(_PREFIX).removeprefix(":") if is_local(name) else name)
    if importlib.util.find_spec("xllamacpp") is None:
        raise InputError(
            "the engine for local models is not installed",
            where="--model",
            fix=f"`pip install 'tallystick[local]'`; {OTHER_ENDPOINT}",
        )
    api_key = secrets.token_urlsafe(32)
    wanted = {
        "weights": str(checked_weights(model)),
        "model": model.name,
        "api_key": api_key,
        "context": model.context,
        "max_tokens": MAX_TOKENS,
        "template": template(),
    }
    with _child() as (process, errors):
        address = _start(process, wanted, start_seconds, errors)
        yield LocalEndpoint(base_url=f"{address}/v1", api_key=api_key, model=model.name, pid=process.pid)


def template() -> str:
    """Return the chat template both models are served with: ChatML, tool calls as JSON in a fence.

    The models' own templates know no tools (SmolLM2) or ask for `<tool_call>` tags that so small a model does not
    write (Qwen): it writes a JSON fence instead. With the fence in the template, the engine reads it as a tool call.
    """
    return (importlib.resources.files("tallystick.models") / "tools.jinja").read_text(encoding="utf-8")


@contextlib.contextmanager
def _child() -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Start the serving process and see it gone: by the end of its input, then by force."""
    with tempfile.TemporaryDirectory(prefix="tallystick-model-") as folder:
        errors = Path(folder) / "errors"
        with errors.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "tallystick.models.serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the parent, which then ends the child
            )
        try:
            yield process, errors
        finally:
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    if pipe is not None:
                        pipe.close()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _start(process: subprocess.Popen[bytes], wanted: Mapping[str, Any], seconds: float, errors: Path) -> str:
    """Tell the child what to serve and return the address it answers with."""
    if process.stdin is None or process.stdout is None:
        raise AssertionError("both pipes were asked for")
    box: list[bytes] = []
    with contextlib.suppress(BrokenPipeError):  # it is gone already; its answer line is then missing
        process.stdin.write((jsontext.dumps(wanted) + "\n").encode("utf-8"))
        process.stdin.flush()
    stdout = process.stdout
    reader = threading.Thread(target=lambda: box.append(stdout.readline()), daemon=True)
    reader.start()
    reader.join(seconds)
    if not box:
        process.kill()  # so that the reader's pipe ends too
        raise InputError(f"the local model did not start within {seconds:g} seconds", where="--model")
    answer = jsontext.loads(box[0]) if box[0].strip() else {}
    address = str(answer.get("address", ""))
    if urllib.parse.urlsplit(address).hostname != "127.0.0.1":
        lines = [line.strip() for line in errors.read_text(encoding="utf-8", errors="replace").splitlines()]
        last = next((line for line in reversed(lines) if line), "it said nothing")
        raise InputError(f"the local model did not start: {answer.get('problem') or last}", where="--model")
    return address
