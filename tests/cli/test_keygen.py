"""`tallystick keygen`."""

from __future__ import annotations

import stat
from pathlib import Path

from tallystick.ledger.keys import load_public_key, public_bytes, signing_key
from tests.cli.conftest import Cli


def test_a_key_and_its_public_half_are_made(cli: Cli, tmp_path: Path) -> None:
    """The private file is for its owner alone; both belong together."""
    path = tmp_path / "ann.pem"
    made = cli("keygen", path, "--json").json
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert made["public_key_file"] == f"{path}.pub"
    assert (
        load_public_key(made["public_key_file"]) == public_bytes(signing_key(path)) == bytes.fromhex(made["public_key"])
    )


def test_nothing_is_overwritten(cli: Cli, tmp_path: Path) -> None:
    """An existing key, or an existing public half, stays as it is."""
    path = tmp_path / "ann.pem"
    for name in ("ann.pem", "ann.pem.pub"):
        (tmp_path / name).write_text("mine", encoding="utf-8")
        done = cli("keygen", path)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert [p.read_text() for p in tmp_path.iterdir()] == ["mine"]
        (tmp_path / name).unlink()
