"""A second parser of reports, deliberately naive: no regular expressions, one character at a time."""
# ruff: noqa: RUF001 - the characters are what the rules name

from __future__ import annotations

import html
import json
import unicodedata

QUOTES = "\"'“”‘’"
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
PAIRS = {"[": "]", "【": "】", "《": "》", "〈": "〉"}
VALUES = ("needs_information", "ready_for_action", "post_observation_continue", "completed")
AROUND = QUOTES + "*_`>#-"
NOTHING = (False, False, None)


def naive(text: str, encoding: str, envelope: bool = False) -> tuple[bool, bool, str | None]:
    """(present, well formed, value) of a reply."""
    if envelope:
        try:
            told = json.loads(text.strip(" \t\r\n"), parse_constant=_not_json)
        except ValueError:
            told = text  # not JSON as a whole
        if isinstance(told, dict):
            told = told.get("message")
        if not isinstance(told, str):
            return NOTHING
        text = told
    count = marks(text)
    if count == 0:
        return NOTHING
    lines = [line.strip(" \t") for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    filled = [line for line in lines if line]
    last = filled[-1] if filled else ""
    head, tail = ("<stage>", "</stage>") if encoding == "xml" else ('"stage": "', '"')
    value = last[len(head) : len(last) - len(tail)]
    fits = last == head + value + tail and value != "" and all(name(c) for c in value)
    return (True, True, value) if count == 1 and fits else (True, False, None)


def _not_json(constant: str) -> None:
    raise ValueError(constant)


def name(char: str) -> bool:
    return char.isalnum() or char in "_-"


def marks(text: str) -> int:
    seen = unicodedata.normalize("NFKC", html.unescape(text))
    seen = "".join(c for c in seen if c not in INVISIBLE).lower()
    opened, closed, keys = traces(seen)
    bare = 0
    for line in seen.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if traces(line) == (0, 0, 0) and is_bare(line):
            bare += 1
    return opened + keys + max(0, closed - opened) + bare


def traces(seen: str) -> tuple[int, int, int]:
    opened = closed = keys = 0
    for at in range(len(seen)):
        if seen[at : at + 5] != "stage":
            continue
        before, after = seen[:at], seen[at + 5 :]
        slash = before.rstrip().endswith("/")
        bracketed = before.removesuffix("/")
        angled = before.rstrip()[:-1].rstrip() if slash else before.rstrip()
        if angled.endswith("<") and not (after and name(after[0])):
            opened, closed = opened + (not slash), closed + slash
        elif bracketed and bracketed[-1] in PAIRS and after.startswith(PAIRS[bracketed[-1]]):
            opened, closed = opened + (bracketed == before), closed + (bracketed != before)
        quoted = after.lstrip("\\")
        if before and before[-1] in QUOTES and quoted and quoted[0] in QUOTES:
            keys += quoted[1:].lstrip()[:1] in (":", "=") and quoted[1:].lstrip() != ""
    return opened, closed, keys


def is_bare(line: str) -> bool:
    rest = trimmed(line)
    if not rest.startswith("stage"):
        return False
    rest = trimmed(rest[5:])
    if rest[:1] not in (":", "="):
        return False
    rest = trimmed(rest[1:])
    for value in VALUES:
        if rest.startswith(value):
            end = trimmed(rest[len(value) :])
            if trimmed(end[1:] if end[:1] in (".", ",", ";") else end) == "":
                return True
    return False


def trimmed(text: str) -> str:
    while text and (text[0] in AROUND or text[0].isspace()):
        text = text[1:]
    return text
