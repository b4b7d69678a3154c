"""Statements of recorded agents, labelled by hand, judged from the record up to their message.

    python benchmarks/claims.py DIR LABELS.jsonl --json
    python benchmarks/claims.py --seeded DIR --json

DIR holds `trajectories/DOMAIN/ID.json`. The verifier is given the conversation and, of a label, only `message`, `start`
and `span`. Of the rest of a label this file alone reads, to score.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from tallystick.prose.grounds import Judged
from tallystick.prose.judge import Verifier
from tallystick.prose.likeness import polarity
from tallystick.prose.mentions import mentions
from tallystick.prose.reading import Mention
from tallystick.prose.setting import setting_of
from tallystick.traces import read_file

GOOD = ("supported", "derivable")
BAD = ("unsupported", "contradicted")


def verifier_of(folder: Path, domain: str, name: str) -> Verifier:
    (trace,) = read_file(folder / "trajectories" / domain / f"{name}.json")
    return Verifier(trace)


def agrees(support: str, judged: Judged) -> bool:
    if support in GOOD:
        return judged.verdict in GOOD
    return judged.verdict == ("refused" if support in BAD else "not_checkable")


def score(folder: Path, labels: list[dict[str, Any]], show: bool) -> dict[str, Any]:
    by_kind: dict[str, Counter[str]] = {}
    by_support: dict[str, Counter[str]] = {}
    wrong = Counter[str]()
    elsewhere: dict[str, Counter[str]] = {}
    claims = agree = 0
    spent = 0.0
    for row in labels:
        verifier = verifier_of(folder, row["domain"], row["trajectory"])
        for claim in row["claims"]:
            began = time.perf_counter()
            judged = verifier.judge(claim["message"], claim["start"], claim["span"])
            spent += time.perf_counter() - began
            support, kind = claim["support"], claim["kind"]
            right = agrees(support, judged)
            claims += 1
            agree += right
            if support in BAD and claim.get("other_source"):
                # What a tool's schema or the system prompt says is no receipt; scored apart.
                elsewhere.setdefault(str(claim["other_source"]), Counter())[judged.verdict] += 1
            by_support.setdefault(support, Counter())[judged.verdict] += 1
            by_kind.setdefault(kind, Counter())["claims"] += 1
            by_kind[kind]["agree"] += right
            wrong["false_support"] += support in BAD and judged.verdict in GOOD
            wrong["false_refusal"] += support in GOOD and judged.verdict not in GOOD
            wrong["not_checkable_passed"] += support == "not_checkable" and judged.verdict in GOOD
            if show and not right:
                print(
                    f"{row['trajectory'][:24]} [{claim['message']}] {support} -> {judged.verdict}: "
                    f"{claim['span']!r} ({claim['subject']}: {claim['value']}) {judged.why}"
                )
    return {
        "claims": claims,
        "agree": agree,
        "by_kind": {k: dict(v) for k, v in sorted(by_kind.items())},
        "by_support": {k: dict(v) for k, v in sorted(by_support.items())},
        "other_source": {k: dict(v) for k, v in sorted(elsewhere.items())},
        "false_support": wrong["false_support"],
        "false_refusal": wrong["false_refusal"],
        "not_checkable_passed": wrong["not_checkable_passed"],
        "milliseconds_per_claim": round(1000 * spent / max(1, claims), 1),
    }


SWAPS = {
    "cancelled": "delivered", "canceled": "delivered", "confirmed": "cancelled", "delivered": "lost",
    "lost": "delivered", "refunded": "replaced", "active": "cancelled", "approved": "denied", "returned": "exchanged",
    "delayed": "cancelled", "shipped": "delivered", "completed": "failed", "exchanged": "returned",
    "replaced": "returned", "eligible": "ineligible", "pending": "approved", "in stock": "out of stock",
    "damaged": "lost", "expired": "active", "denied": "approved",
}  # fmt: skip


def other_value(mention: Mention, said: str, draw: random.Random) -> str | None:
    """Return the mention's text with another value of its kind that stands nowhere in `said`, or None."""
    text = mention.text
    if mention.kind == "status":
        other = SWAPS.get(text.lower())
        return None if other is None or other in said.lower() else other
    digits = list(re.finditer(r"[0-9]+", text))
    if not digits:
        return None
    for _ in range(40):
        if mention.kind in ("money", "number", "quantity", "percent", "duration"):
            whole = re.search(r"[0-9][0-9,]*(?:\.[0-9]+)?", text)
            assert whole is not None
            old = Decimal(whole[0].replace(",", ""))
            new = old + draw.choice((-1, 1)) * draw.randint(1, max(3, int(old) // 3 + 1))
            if new <= 0 or new == old:
                continue
            if re.search(rf"(?<![0-9.,])(?:{new}|{new:,})(?![0-9])", said):
                continue
            return text[: whole.start()] + (f"{new:,}" if "," in whole[0] else str(new)) + text[whole.end() :]
        part = draw.choice(digits) if mention.kind != "id" else digits[-1]
        if mention.kind in ("date", "datetime", "month_day"):
            days = [d for d in digits if len(d[0]) <= 2 and 1 <= int(d[0]) <= 28]
            if not days:
                return None
            part = days[-1] if re.match(r"[0-9]{4}", text) and len(days) == 2 else days[0]
            new_digits = f"{draw.randint(1, 28):0{len(part[0])}d}"
            if new_digits == part[0] or re.search(rf"-{int(new_digits):02d}T", said):
                continue
        else:
            new_digits = "".join(draw.choice("123456789") for _ in part[0])
        new_text = text[: part.start()] + new_digits + text[part.end() :]
        if new_text not in said and new_text != text:
            return new_text
    return None


def neighbours(verifier: Verifier, judged: Judged, mention: Mention) -> list[str]:
    """Return what the field that supports a mention holds for other entities, written as the mention is."""
    record = verifier.record(10**9)
    if not judged.receipts:
        return []
    first = judged.receipts[0]
    mine = next(
        (
            f for f in record.facts
            if (f.call.call.message, f.call.call.index, f.where()) == (first.message, first.call, first.pointer)
        ),
        None,
    )  # fmt: skip
    if mine is None or mine.thing.primary is None or mine.asked or mine.value == mine.thing.primary[1]:
        return []
    own = {
        f.value
        for f in record.facts
        if mine.thing.primary[1] in f.thing.own | f.thing.around and not isinstance(f.value, bool)
    }
    found = []
    for fact in record.facts:
        if fact.key == mine.key and fact.call.came == "ok" and not fact.asked and fact.thing.primary is not None:
            value = fact.value
            if value in own or fact.thing.primary[1] == mine.thing.primary[1]:
                continue
            if (
                mention.kind == "money"
                and isinstance(value, (int, Decimal))
                and not isinstance(value, bool)
                and value > 0
            ):
                found.append(f"${value:,}")
            elif mention.kind == "id" and isinstance(value, str) and mention.text[:2] == value[:2]:
                found.append(value)
    return sorted(set(found))


def seeded(folder: Path, wanted: int, show: bool, seed: int = 1) -> dict[str, Any]:
    """Change one value in final messages to what the record does not give there; every change must be refused."""
    draw = random.Random(seed)
    tried, refused = Counter[str](), Counter[str]()
    messages: set[str] = set()
    options: list[tuple[int, Path, Any]] = []
    for path in sorted(folder.glob("trajectories/*/*.json")):
        (trace,) = read_file(path)
        verifier = Verifier(trace)
        final = next((m for m in reversed(trace.messages) if m.role == "assistant" and m.text), None)
        if final is None or not trace.calls:
            continue
        said = path.read_text("utf-8")
        mine = []
        for mention in mentions(final.text):
            if mention.kind in ("code", "quoted", "boolean", "ordinal", "time", "instant"):
                continue
            if mention.kind == "status" and polarity(final.text, mention.start):
                continue  # `not refunded`: another state is denied as truly
            low, high = setting_of(final.text, mention.start, mention.end).clause(mention.start, mention.end)
            judged = verifier.judge(final.index, low, final.text[low:high])
            if judged.verdict not in GOOD:
                continue
            new = other_value(mention, said, draw)
            if new is not None:
                mine.append((mention, low, high, new, f"invented {mention.kind}"))
            held = [t for t in neighbours(verifier, judged, mention) if t not in final.text]
            if held:
                mine.append((mention, low, high, draw.choice(held), f"of another entity {mention.kind}"))
        draw.shuffle(mine)
        options += [(at, path, (trace, final, *one)) for at, one in enumerate(mine)]
    options.sort(key=lambda o: (o[0], str(o[1])))
    for _, path, (trace, final, mention, low, high, new, kind) in options[:wanted]:
        text = final.text[: mention.start] + new + final.text[mention.end :]
        span = text[low : high + len(new) - len(mention.text)]
        changed = msgspec.structs.replace(
            trace,
            messages=tuple(msgspec.structs.replace(m, text=text) if m is final else m for m in trace.messages),
        )
        judged = Verifier(changed).judge(final.index, low, span)
        tried[kind] += 1
        refused[kind] += judged.verdict not in GOOD
        messages.add(path.stem)
        if show and judged.verdict in GOOD:
            print(f"{path.stem[:30]} [{final.index}] {kind}: {mention.text!r} -> {new!r} in {span!r}")
    return {
        "seeded": sum(tried.values()),
        "trajectories": len(messages),
        "refused": sum(refused.values()),
        "by_kind": {k: {"seeded": tried[k], "refused": refused[k]} for k in sorted(tried)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("labels", type=Path, nargs="?")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument(
        "--part",
        choices=("development", "held-out"),
        help="score the part of the labelled trajectories that the rules were made with, or the rest",
    )
    parser.add_argument("--show", action="store_true", help="print each claim judged otherwise than labelled")
    parser.add_argument("--seeded", action="store_true", help="seed wrong values into final messages instead")
    parser.add_argument("--count", type=int, default=300, help="how many values to seed")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.seeded:
        found = seeded(given.folder, given.count, given.show, given.seed)
        print(json.dumps(found, indent=None if given.json else 2))
        return
    if given.labels is None:
        parser.error("LABELS.jsonl is missing")
    rows = [json.loads(line) for line in given.labels.read_text("utf-8").splitlines() if line.strip()]
    if given.part:
        rows = [r for at, r in enumerate(rows) if (at % 4 != 3) == (given.part == "development")]
    found = score(given.folder, rows, given.show)
    print(json.dumps(found, indent=None if given.json else 2))


if __name__ == "__main__":
    main()
