"""The child process that serves one model: `python -m tallystick.models.serve`, started by `local_model` only.

What it is to do arrives as one line of JSON on standard input, so that the key is in no argument list and no
environment. It answers with one line, the address or what is wrong, and lives until its standard input ends: that
happens when the parent closes it, and also when the parent is killed.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from typing import Any, Final

_LOOK_SECONDS: Final = 1.0
LOOPBACK: Final = "127.0.0.1"


def main() -> None:
    """Serve until standard input ends or the parent is gone."""
    wanted: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever the engine prints goes to standard error; the one answer line has its own descriptor
    parent = os.getppid()
    ended = threading.Event()

    def listen() -> None:
        sys.stdin.buffer.read()
        ended.set()

    threading.Thread(target=listen, daemon=True).start()
    try:
        server = _server(wanted)
        answer = {"address": server.listening_address}
    except Exception as bad:  # noqa: BLE001 - whatever it is, the parent is to say it
        answer = {"problem": f"{type(bad).__name__}: {bad}"}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
    # Another child of the parent may hold our pipe open after the parent's death, so its id is looked at as well.
    while "address" in answer and not ended.wait(_LOOK_SECONDS) and os.getppid() == parent:
        pass
    os._exit(0)  # a reply may be half written to nobody; there is no state to save


def _server(wanted: dict[str, Any]) -> Any:
    """Start the engine's server: one thread, one slot, loopback, with a key, and nothing it offers besides."""
    # Imported by name: the `local` extra may be missing where this is type-checked, and it has no types anyway.
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = wanted["weights"]
    params.model_alias = [wanted["model"]] if isinstance(params.model_alias, (list, set)) else wanted["model"]
    params.hostnames = [LOOPBACK]
    params.port = 0  # the system picks a free one
    params.api_keys = [wanted["api_key"]]
    params.cors_origins = ""
    params.cors_credentials = False
    params.ui = False
    params.endpoint_slots = False
    params.offline = True
    params.n_threads_http = 2
    params.cpuparams.n_threads = 1  # one thread and one slot: temperature 0 repeats only when serial
    params.cpuparams_batch.n_threads = 1
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.cache_ram_mib = 0
    params.n_ctx = wanted["context"]
    params.n_predict = wanted["max_tokens"]  # small models loop; a request that names no limit has this one
    params.use_jinja = True
    params.chat_template = wanted["template"]
    params.verbosity = 1  # errors only: prompts are nobody's log
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
