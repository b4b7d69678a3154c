"""The package that brings the benchmark, found when it is first needed."""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import Any, Final

from tallystick.errors import InputError

EXTRA: Final = "tau2"


def of(module: str) -> Any:
    """Return a module of the benchmark, such as `telecom.tools`.

    Raises:
        InputError: `inspect-evals` is not installed.
    """
    try:
        return importlib.import_module(f"inspect_evals.tau2.{module}")
    except ModuleNotFoundError as bad:
        if (bad.name or "").split(".")[0] not in ("inspect_evals", "inspect_ai", "toml"):
            raise
        raise InputError(
            "the benchmark is in the package `inspect-evals`", where="tau2",
            fix=f"install the `{EXTRA}` extra: `pip install 'tallystick[{EXTRA}]'`",
        ) from None  # fmt: skip


def version() -> str:
    """Return the installed version of the package.

    Raises:
        InputError: it is not installed.
    """
    of("utils")
    return importlib.metadata.version("inspect-evals")
