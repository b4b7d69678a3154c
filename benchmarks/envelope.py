"""Canonical envelopes, digests and signatures: `python benchmarks/envelope.py [--rounds N] [--json]`.

The envelope is an intent's, as a run writes it. `orjson` with sorted keys is a floor and no candidate: it is not RFC
8785 (floats, order of keys beyond ASCII); it is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from append import chained
from tallystick.ledger.checkpoint import checkpoint
from tallystick.ledger.store import Head
from tallystick.ledger.verify import Chain
from tallystick.model.canonical import canonical, digest
from tallystick.model.events import seal, unseal
from tallystick.model.values import instant_of
from timing import Ratio, Timing, as_json, interleaved, table


def repeated(work: Callable[[], object], count: int) -> Callable[[], float]:
    def timed() -> float:
        begin = time.perf_counter()
        for _ in range(count):
            work()
        return (time.perf_counter() - begin) / count * 1e6

    return timed


def contenders() -> dict[str, Callable[[], float]]:
    first, item = chained(1)
    event, plain = item.event, msgspec.to_builtins(item.event)
    key = Ed25519PrivateKey.generate()
    head, now = Head(seq=2, digest=item.digest), instant_of(event.at)
    signed = checkpoint("run", head, now, key)
    public, signature, covered = key.public_key(), bytes.fromhex(signed.signature or ""), signed.signed_bytes()

    def verifier() -> None:
        chain = Chain("run")
        chain.events, chain.head, chain._next = 1, first.digest, 2
        chain.feed(item.raw, 1)
        assert not chain.flaws

    found: dict[str, Callable[[], float]] = {
        "rfc8785, pure Python": repeated(lambda: rfc8785.dumps(plain), 300),
        "canonical(), RFC 8785 of any value": repeated(lambda: canonical(plain), 3_000),
        "seal(): encode, read back, SHA-256": repeated(lambda: seal(event), 5_000),
        "unseal(): decode, compare, SHA-256": repeated(lambda: unseal(item.raw), 5_000),
        "SHA-256 alone": repeated(lambda: digest(item.raw), 10_000),
        "verify: one event": repeated(verifier, 200),
        "Ed25519 sign": repeated(lambda: key.sign(covered), 300),
        "Ed25519 verify": repeated(lambda: public.verify(signature, covered), 200),
        "checkpoint, signed": repeated(lambda: checkpoint("run", head, now, key), 200),
    }
    orjson = _optional("orjson")
    if orjson is not None:
        found["orjson sorted, not RFC 8785"] = repeated(
            lambda: orjson.dumps(plain, option=orjson.OPT_SORT_KEYS), 10_000
        )
    assert seal(event).raw == rfc8785.dumps(plain) == canonical(plain)
    return found


def _optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def measure(rounds: int) -> tuple[list[Timing], list[Ratio]]:
    t = interleaved(contenders(), rounds=rounds)
    slow = t["rfc8785, pure Python"]
    ratios = [
        Ratio(name="canonical() / rfc8785", value=t["canonical(), RFC 8785 of any value"].speed_against(slow)),
        Ratio(name="seal() / rfc8785", value=t["seal(): encode, read back, SHA-256"].speed_against(slow)),
    ]
    if "orjson sorted, not RFC 8785" in t:
        floor = t["orjson sorted, not RFC 8785"]
        ratios.append(
            Ratio(name="seal() / orjson sorted", value=t["seal(): encode, read back, SHA-256"].speed_against(floor))
        )
    return list(t.values()), ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    timings, ratios = measure(options.rounds)
    size = len(chained(1)[1].raw)
    if options.json:
        json.dump({"event_bytes": size, "rounds": options.rounds, **as_json(timings, ratios)}, sys.stdout)
        print()
    else:
        print(f"an envelope of {size} bytes, {options.rounds} interleaved rounds\n")
        print(table(timings, ratios))


if __name__ == "__main__":
    main()
