"""The per-run key that secret fields are marked under: beside the ledger file, mode 0600, never in an export."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote

from tallystick.contracts.types import Contract, Tool
from tallystick.errors import InputError
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.ledger.store import Store
from tallystick.model.redact import KEY_BYTES

FOLDER_SUFFIX: Final = ".secrets"
"""The folder beside `ledger.db` is `ledger.db.secrets`; each run with secret fields has one file in it."""


def secret_in(tool: Tool | None, part: Literal["args", "result"]) -> tuple[tuple[str, ...], ...]:
    """Return the pointers of what a contract marks secret in a tool's arguments or result, relative to it."""
    if tool is None or not tool.secrets:
        return ()
    return tuple(tokens[1:] for tokens in tool.secrets if tokens[0] == part)


def run_key(store: Store, run: str, contract: Contract) -> bytes | None:
    """Return the run's key, made on first use; None where the contract marks nothing secret.

    Only a store in a file keeps the key: elsewhere it lives as long as this process, and marks of two tenures differ.

    Raises:
        InputError: the key file cannot be made or read, others can read it, or its content is no key.
    """
    if not any(tool.secrets for tool in contract.tools.values()):
        return None
    if not isinstance(store, SQLiteStore):
        return secrets.token_bytes(KEY_BYTES)
    folder = store.path.with_name(store.path.name + FOLDER_SUFFIX)
    return _key_in(folder / (quote(run, safe="") + ".key"))


def _key_in(file: Path) -> bytes:
    try:
        file.parent.mkdir(mode=0o700, exist_ok=True)
        if not file.exists():
            _make(file)
        with file.open("rb") as stream:
            mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
            key = stream.read(KEY_BYTES + 1)
    except OSError as bad:
        raise InputError(f"the key for secret fields cannot be used: {bad.strerror}", where=str(file)) from None
    if os.name == "posix" and mode & 0o077:
        raise InputError(
            f"the key for secret fields can be read by others (mode {mode:04o})",
            where=str(file),
            fix=f"chmod 600 {file}",
        )
    if len(key) != KEY_BYTES:
        raise InputError(f"the key for secret fields is not {KEY_BYTES} bytes", where=str(file))
    return key


def _make(file: Path) -> None:
    # Whole under another name, then linked: never half there, and of two processes at once the first one's key counts.
    draft = file.with_name(f".{secrets.token_hex(8)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        stream.write(secrets.token_bytes(KEY_BYTES))
        stream.flush()
        os.fsync(stream.fileno())
    try:
        with contextlib.suppress(FileExistsError):
            os.link(draft, file)
    finally:
        draft.unlink()
