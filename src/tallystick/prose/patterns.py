"""The patterns by which `mentions` finds values: currencies, units, identifiers, hedges, negations."""

from __future__ import annotations

import re
from typing import Final

from tallystick.prose.numerals import NUMBER_WORDS, NUMERAL, ORDINAL_WORDS

SIGNS: Final = {
    "$": ("USD", "CAD", "AUD", "NZD", "SGD", "HKD", "MXN"), "US$": ("USD",), "C$": ("CAD",), "A$": ("AUD",),
    "€": ("EUR",), "£": ("GBP",), "¥": ("JPY", "CNY"), "₹": ("INR",), "₩": ("KRW",),
}  # fmt: skip
NAMES: Final = {
    "dollar": SIGNS["$"], "dollars": SIGNS["$"], "buck": ("USD",), "bucks": ("USD",), "euro": ("EUR",),
    "euros": ("EUR",), "pound sterling": ("GBP",), "pounds sterling": ("GBP",), "yen": ("JPY",), "rupees": ("INR",),
}  # fmt: skip
_CODES: Final = (
    "AED|AUD|BRL|CAD|CHF|CLP|CNY|CZK|DKK|EUR|GBP|HKD|HUF|IDR|ILS|INR|JPY|KRW|KWD|MXN|MYR|NOK|NZD|PHP|PLN|SEK|SGD|THB"
    "|TND|TRY|TWD|USD|VND|ZAR"
)
_SIGN: Final = r"(?:US\$|C\$|A\$|[$€£¥₹₩])"
_SCALE: Final = r"(?:\s?(?P<{0}>k|thousand|million|m|bn|billion)\b)?"
_MINUS: Final = r"[-\u2212\u2013+]"
MONEY: Final = re.compile(
    rf"(?P<minus>{_MINUS}\s?)?(?P<sign>{_SIGN})\s?(?P<minus2>{_MINUS})?(?P<n1>{NUMERAL}){_SCALE.format('s1')}"
    rf"(?:\s?(?P<c1>{_CODES})\b)?"
    rf"|\b(?P<c2>{_CODES})\s?(?P<minus3>{_MINUS})?(?P<sign2>{_SIGN})?(?P<n2>{NUMERAL}){_SCALE.format('s2')}"
    rf"|(?<![\w.,-])(?P<minus4>{_MINUS}(?=[0-9.]))?(?P<n3>{NUMERAL}){_SCALE.format('s3')}\s?"
    rf"(?:(?P<c3>{_CODES})\b|(?P<sign3>[€£₹])|(?P<name>(?:US )?{'|'.join(sorted(NAMES, key=len, reverse=True))})\b)"
    rf"|\b(?P<words>{NUMBER_WORDS}) (?P<name2>dollars?|euros?|bucks|yen)\b"
)
PERCENT: Final = re.compile(
    rf"(?<![\w.,])(?P<minus>{_MINUS})?(?P<n>{NUMERAL})\s?(?:%|percent\b|per cent\b)"
    rf"|\b(?P<words>{NUMBER_WORDS}) (?:percent|per cent)\b",
    re.IGNORECASE,
)
SECONDS: Final = {
    "second": 1, "sec": 1, "s": 1, "minute": 60, "min": 60, "m": 60, "hour": 3600, "hr": 3600, "h": 3600,
    "day": 86400, "d": 86400, "week": 604800, "wk": 604800,
}  # fmt: skip
_TIME_UNITS: Final = r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|wks?)"
DURATION: Final = re.compile(
    rf"(?<![\w.,])(?P<n>{NUMERAL})\+?(?P<gap>[\s-]?)(?P<unit>{_TIME_UNITS}\b|[hmsd]\b)"
    rf"(?:,? ?(?:and )?(?P<n2>[0-9]+)\s?(?P<unit2>{_TIME_UNITS}\b|[ms]\b))?"
    rf"|\b(?P<words>{NUMBER_WORDS})[\s-](?P<unit3>{_TIME_UNITS})\b",
    re.IGNORECASE,
)
_CALENDAR_UNITS: Final = r"(?:(?:business|working|calendar|week) ?-?)days?|nights?|months?|years?|yrs?|quarters?"
_MEASURES: Final = (
    r"kilograms?|kgs?|grams?|g|mg|pounds?|lbs?|ounces?|oz|tons?|tonnes?|kilometers?|kilometres?|km|meters?|metres?"
    r"|cm|mm|miles?|mi|inches|inch|feet|foot|ft|yards?|yd|lit(?:er|re)s?|ml|gallons?|gal|gb|mb|tb|kb|watts?|w|kw|kwh"
    r"|volts?|v|hz|khz|mhz|ghz|mah|amps?|points?|pts?|stars?|miles|credits?|degrees?|°[cf]"
)
QUANTITY: Final = re.compile(
    rf"(?<![\w.,$€£])(?<!\D-)(?P<minus>{_MINUS}(?=[0-9]))?(?P<n>{NUMERAL})"
    rf"\+?[\s-]?(?P<unit>(?:{_CALENDAR_UNITS}|{_MEASURES})(?![\w]))"
    rf"|\b(?P<words>{NUMBER_WORDS})[\s-](?P<unit2>(?:{_CALENDAR_UNITS}|{_MEASURES}))(?![\w])",
    re.IGNORECASE,
)
ID: Final = re.compile(
    r"(?<![\w/.-])(?:#(?P<hash>(?=[\w-]*[0-9])[A-Za-z0-9][\w-]*)|(?P<mail>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<id>(?=[\w-]*[0-9])(?=[\w-]*[A-Za-z])[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*"
    r"|(?=[0-9_-]*[A-Z])[A-Z0-9]+(?:[-_][A-Z0-9]+)+|[a-z]+(?:_[a-z0-9]+)+))(?![\w])"
)
NO_ID: Final = re.compile(
    rf"[0-9]+(?:st|nd|rd|th|s|x|am|pm|k|h|m)|x[0-9]+|[0-9]+h[0-9]+m?"
    rf"|[0-9]+-(?:{_TIME_UNITS}|{_CALENDAR_UNITS}|{_MEASURES}|[a-z]+)(?:-[a-z]+)*"
    r"|(?:non|pre|post|mid|top|sub|re)-[0-9]+(?:-[a-z]+)*",
    re.IGNORECASE,
)
CODE: Final = re.compile(r"(?<![\w-])[A-Z]{2,}(?![\w-])")
QUOTED: Final = re.compile(
    '\u201c([^\u201d\n]{1,120})\u201d|"([^"\n]{1,120})"|`([^`\n]{1,120})`|(?<!\\w)\u2018([^\u2019\n]{1,120})\u2019'
)
ORDINAL: Final = re.compile(rf"\b(?:[0-9]{{1,4}}(?:st|nd|rd|th)|{ORDINAL_WORDS})\b", re.IGNORECASE)
NUMBER: Final = re.compile(
    rf"(?<![\w.,/-])(?P<minus>{_MINUS}(?=[0-9.]))?(?P<n>{NUMERAL}){_SCALE.format('s')}(?:x\b)?(?![\w%/]|[.,]?[0-9])"
    rf"|\b(?P<words>{NUMBER_WORDS})\b",
    re.IGNORECASE,
)
TIMES_N: Final = re.compile(r"(?<![\w])[x\u00d7]\s?(?P<n>[0-9]{1,4})\b")
DASHED: Final = re.compile(r"\s?[-\u2010-\u2015]\s?")
ABOUT: Final = re.compile(
    r"(?:\b(?:about|around|approximately|roughly|nearly|almost|some|circa|approx\.?)|~|\u2248)\s?$", re.IGNORECASE
)
LEAST: Final = re.compile(
    r"(?:\b(?:at least|over|more than|above|minimum(?: of)?|no less than"
    r"|exceed(?:s|ing)?|starting at|from)|[>\u2265]=?)\s?(?:\w+ )?$",
    re.IGNORECASE,
)
MOST: Final = re.compile(
    r"(?:\b(?:at most|up to|under|less than|below|maximum(?: of)?"
    r"|no more than|within|fewer than|cap of)|[<\u2264]=?)\s?(?:\w+ )?$",
    re.IGNORECASE,
)
NOUN: Final = re.compile(
    r"[ -]?(?:more |other |additional |separate |different |total |full |open |active |new )?([A-Za-z][a-z]+)"
)
NO_NOUN: Final = frozenset((
    "or", "and", "to", "of", "for", "in", "on", "at", "is", "are", "was", "were", "by", "with", "from", "as",
    "per", "the", "a", "an", "but", "if", "so", "than", "that", "this", "each", "was", "will", "would", "can",
    "could", "has", "have", "had", "which", "who", "your", "you", "it", "its", "total", "more", "less", "off",
    "out", "into", "until", "through",
))  # fmt: skip
NEGATION: Final = re.compile(
    r"(?:\b(?:not|never|no|isn't|aren't|wasn't|weren't|hasn't|haven't|cannot|can't"
    r"|won't|doesn't|don't|didn't|neither|nor|without|un)\b|n['\u2019]t\b)"
    r"(?: (?:yet|been|be|currently|actually|already|fully|a|an|any|the|longer|to))*[ ]?$",
    re.IGNORECASE,
)
BOOLEAN: Final = re.compile(r"\b(?:yes|no|true|false)\b", re.IGNORECASE)
