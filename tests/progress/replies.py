"""Replies with tricks, rendered in both encodings from the same choices, so that twins differ in nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from tallystick.progress import STAGES

VALUES = (
    *STAGES,
    "done",
    "active",
    "qzx",
    "COMPLETED",
    "in-progress",
    "完成",
    "in progress",
    "",
    "a.b",
    "é",
    "x" * 300,
)
PROSE = (
    "Done.",
    "完成。",
    "Which date?",
    "",
    "Stage one is completed.",
    "<b>ok</b>",
    "```",
    "&amp;",
    "> quoted",
    "\ufeffHi",
)
ENDS = ("\n", "\r\n", "\r", "\n\n", "\n \t\n")
WIDE = {ord(c): chr(ord(c) + 0xFEE0) for c in map(chr, range(0x21, 0x7F))}


def marker(encoding: str, value: str) -> str:
    return f"<stage>{value}</stage>" if encoding == "xml" else f'"stage": "{value}"'


def other(encoding: str) -> str:
    return "json" if encoding == "xml" else "xml"


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&#34;")


# What may happen to a marker. Each does the same to both encodings: none of them asks which it has.
TRICKS: tuple[Callable[[str], str], ...] = (
    lambda m: m, lambda m: m, lambda m: m, lambda m: m, lambda m: m, lambda m: m,
    str.upper, lambda m: m.replace("stage", "Stage"), lambda m: m.replace("stage", "stages"),
    lambda m: m.replace("stage", "st\u200bage"), lambda m: m.replace("stage", "status"),
    lambda m: m.translate(WIDE), escaped, lambda m: escaped(escaped(m)),
    lambda m: f"**{m}**", lambda m: f"- {m}", lambda m: f"> {m}", lambda m: f"`{m}`", lambda m: f"({m})",
    lambda m: f"Done. {m}", lambda m: f"{m} Bye.", lambda m: f"{m}.", lambda m: m + "\u00a0", lambda m: "\ufeff" + m,
    lambda m: f"  \t{m} \t ", lambda m: f"```\n{m}\n```", lambda m: m + m, lambda m: f"{m}\n{m}", lambda m: m[:-1],
    lambda m: "{" + m + "}", lambda m: m + ",", lambda m: m.replace("stage", "\uff53tage"),
)  # fmt: skip


def twins(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield (XML reply, JSON reply) of the same choices; the first asks for XML and the second for JSON."""
    draw = random.Random(seed)
    for _ in range(count):
        shape = draw.random()
        parts: list[tuple[bool, Callable[[str], str], str] | str] = []
        for _ in range(draw.randrange(3)):
            parts += [draw.choice(PROSE), draw.choice(ENDS)]
        times = 0 if shape < 0.08 else 1 if shape < 0.85 else 2
        for _ in range(times):
            foreign = draw.random() < 0.08
            parts += [(foreign, draw.choice(TRICKS), draw.choice(VALUES)), draw.choice(ENDS)]
        if draw.random() < 0.1:
            parts.append(draw.choice(PROSE))
        yield _rendered(parts, "xml"), _rendered(parts, "json")


def _rendered(parts: list[tuple[bool, Callable[[str], str], str] | str], encoding: str) -> str:
    return "".join(
        p if isinstance(p, str) else p[1](marker(other(encoding) if p[0] else encoding, p[2])) for p in parts
    )
