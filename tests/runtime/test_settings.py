"""What a guard, a principal and a task are made from: anything else is one clear line, and says what would be right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tallystick import ContractError, Guard, InputError, Principal
from tallystick.ledger.keys import load_public_key, load_signing_key, make_signing_key, public_bytes
from tests.runtime.shop import CONTRACT, TASK

KEY = Ed25519PrivateKey.generate()
RAW = public_bytes(KEY)
PEM = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
MISUSE: dict[str, tuple[Callable[[], Any], str]] = {
    "a mapping": (lambda: Guard({"contract": "shop/1"}), "contracts.build"),  # type: ignore[arg-type]
    "a text": (lambda: Guard("contract: shop/1\ntools: {}\n"), "contracts.parse"),
    "a number": (lambda: Guard(7), "a `Contract`, or a path"),  # type: ignore[arg-type]
    "a list of tools": (lambda: Guard(CONTRACT, tools=[print]), "callable"),  # type: ignore[arg-type]
    "a text for seconds": (lambda: Guard(CONTRACT, timeout="5s"), "timeout: `5s`"),  # type: ignore[arg-type]
    "negative seconds": (lambda: Guard(CONTRACT, timeout=-5), "timeout: `-5` seconds"),
    "endless seconds": (lambda: Guard(CONTRACT, lease_seconds=float("inf")), "lease_seconds"),
    "half a count": (lambda: Guard(CONTRACT, refusal_budget=1.5), "refusal_budget"),  # type: ignore[arg-type]
    "a mapping for a principal": (
        lambda: Guard(CONTRACT).run(TASK, principals=[{"id": "ann"}]),  # type: ignore[list-item]
        "Principal.from_key",
    ),
    "a text for principals": (lambda: Guard(CONTRACT).run(TASK, principals="ann"), "no list"),  # type: ignore[arg-type]
    "a key in hexadecimal digits": (lambda: Principal(id="a", role="r", public_key=RAW.hex()), "from_key"),  # type: ignore[arg-type]
    "a key in PEM": (lambda: Principal(id="a", role="r", public_key=PEM), "from_key"),
    "no role": (lambda: Principal(id="a", role="", public_key=RAW), "no role of a principal"),
    "no key at all": (lambda: Principal.from_key("a", "r", 7), "no public key"),  # type: ignore[arg-type]
    "no such key": (lambda: Principal.from_key("a", "r", "nosuch.pub"), "cannot be read"),
    "words for a task": (lambda: Guard(CONTRACT).run("pay I-7"), '{"request":"pay I-7"}'),
    "an input beside the bindings": (lambda: Guard(CONTRACT).run({"invoice": "I-7"}), "put it under `bindings`"),
}


@pytest.mark.parametrize("name", MISUSE)
def test_misuse_is_one_clear_error_that_says_what_would_be_right(name: str) -> None:
    make, said = MISUSE[name]
    with pytest.raises(InputError) as caught:
        make()
    assert said in str(caught.value)


def test_a_tasks_mistakes_are_not_headed_as_the_contracts() -> None:
    with pytest.raises(ContractError, match="1 problem in the task"):
        Guard(CONTRACT).run({"invoice": "I-7"})
    with pytest.raises(ContractError, match="1 problem in the task"):
        Guard(CONTRACT).run({"request": "pay"})


def test_a_principal_is_made_from_a_key_as_people_hold_it(tmp_path: Path) -> None:
    made = make_signing_key(tmp_path / "ann.pem")
    raw, file = public_bytes(made), tmp_path / "ann.pem.pub"
    assert public_bytes(load_signing_key(tmp_path / "ann.pem")) == raw
    for key in (raw, raw.hex(), raw.hex().upper(), file, str(file), file.read_bytes(), file.read_text()):
        assert Principal.from_key("ann", "finance", key) == Principal(id="ann", role="finance", public_key=raw)
    assert load_public_key(file) == raw
    with pytest.raises(InputError, match="private key"):
        Principal.from_key("ann", "finance", tmp_path / "ann.pem")


def test_a_key_is_made_only_when_it_is_asked_for(tmp_path: Path) -> None:
    make_signing_key(tmp_path / "ann.pem")
    with pytest.raises(InputError, match="already"):
        make_signing_key(tmp_path / "ann.pem")
    with pytest.raises(InputError, match="check the path"):
        load_signing_key(tmp_path / "anm.pem")
    assert not (tmp_path / "anm.pem").exists()


def test_a_run_whose_approvals_nobody_can_give_does_not_start() -> None:
    bare = {"bindings": {"invoice": "I-7"}}
    wrong = Principal(id="bob", role="finanze", public_key=RAW)
    guard = Guard(CONTRACT)
    for principals in ((), (wrong,)):
        with pytest.raises(InputError, match="`wire` needs approval by `finance`"):
            guard.run(bare, principals=principals)
    with guard.run(bare, without_approvers=True) as run:
        assert run.call("wire", {"invoice_id": "I-7", "amount": "1.00"}, print).refused
    guard.run(bare, principals=Principal(id="bob", role="finance", public_key=RAW)).close()


@pytest.mark.parametrize(
    "names",
    [
        [("finance", "clerk")],  # the role the contract needs
        [("finance", "clerk"), ("ann", "finance")],
        [("ann", "finance"), ("clerk", "sales"), ("bob", "clerk")],  # another principal's role
        [("ann", "finance"), ("ann", "sales")],
    ],
)
def test_no_principal_is_named_as_another_or_as_a_role_it_does_not_have(names: list[tuple[str, str]]) -> None:
    principals = [
        Principal(id=name, role=role, public_key=public_bytes(Ed25519PrivateKey.generate())) for name, role in names
    ]
    with pytest.raises(InputError, match="principal"):
        Guard(CONTRACT).run({"bindings": {"invoice": "I-7"}}, principals=principals, without_approvers=True)


def test_a_principal_may_be_named_as_its_own_role() -> None:
    finance = Principal(id="finance", role="finance", public_key=RAW)
    Guard(CONTRACT).run({"bindings": {"invoice": "I-7"}}, principals=finance).close()
