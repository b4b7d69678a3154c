"""Keys in files: made once, kept private, and refused clearly when unusable."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from tallystick.errors import InputError
from tallystick.ledger.keys import load_public_key, public_bytes, save_public_key, signing_key


def test_a_key_is_made_on_first_use_and_then_stays(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    made = signing_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert public_bytes(signing_key(path)) == public_bytes(made)
    assert load_public_key(tmp_path / "key.pem.pub") == public_bytes(made)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["key.pem", "key.pem.pub"]


def test_the_mode_does_not_depend_on_the_umask(tmp_path: Path) -> None:
    code = (
        f"import os; os.umask(0); from tallystick.ledger.keys import signing_key; signing_key({str(tmp_path / 'k')!r})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / "k").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610])
def test_a_key_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key.pem"
    signing_key(path)
    path.chmod(mode)
    with pytest.raises(InputError, match=f"{mode:04o}") as refused:
        signing_key(path)
    assert "chmod 600" in (refused.value.fix or "")


def test_makers_at_the_same_time_end_up_with_one_key(tmp_path: Path) -> None:
    found: list[bytes] = []
    barrier = threading.Barrier(8)

    def make() -> None:
        barrier.wait()
        found.append(public_bytes(signing_key(tmp_path / "key.pem")))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert set(found) == {load_public_key(tmp_path / "key.pem.pub")}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["key.pem", "key.pem.pub"]


KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)


@pytest.mark.parametrize("form", ["pem", "hex", "hex with newline", "HEX", "raw"])
def test_a_public_key_is_read_in_every_usual_form(tmp_path: Path, form: str) -> None:
    path = tmp_path / "key.pub"
    raw = public_bytes(KEY)
    if form == "pem":
        save_public_key(KEY, path)
    else:
        path.write_bytes(
            {"hex": raw.hex().encode(), "hex with newline": raw.hex().encode() + b"\n", "raw": raw}.get(
                form, raw.hex().upper().encode()
            )
        )
    assert load_public_key(path) == raw


def other_kind() -> bytes:
    key = generate_private_key(SECP256R1()).public_key()
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"ssh-ed25519 AAAA",
        b"a" * 63,
        b"g" * 64,
        b"x" * 33,
        b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
        b"\xff" * 20_000,
        other_kind(),
        KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    ],
    ids=range(10),
)
def test_what_is_no_public_key_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "key.pub"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"key\.pub"):
        load_public_key(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        b"\xff" * 20_000,
        KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"pw")),
        generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        other_kind(),
    ],
    ids=range(6),
)
def test_what_is_no_signing_key_is_one_clear_error_and_stays_untouched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(InputError, match=r"key\.pem"):
        signing_key(path)
    assert path.read_bytes() == content


def test_unusable_places_are_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        signing_key(tmp_path / "no" / "key.pem")
    with pytest.raises(InputError, match="directory"):
        signing_key(tmp_path)
    with pytest.raises(InputError, match="No such file"):
        load_public_key(tmp_path / "none")
    with pytest.raises(InputError):
        save_public_key(KEY, tmp_path / "no" / "key.pub")
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - names only
