"""Describe user agents in few words, such as "Firefox" and "Linux", for the list of sign-ins.

The patterns cover common browsers and systems. Their order matters: every browser claims to be
Mozilla, Edge also Chrome, Chrome also Safari. A user agent is a claim of the client, so it is only
shown.
"""

import re
from functools import lru_cache
from typing import NamedTuple

_MAX_SHOWN = 40  # characters

_BROWSERS = (
    ("Edge", r"\bEdg(e|A|iOS)?/"),
    ("Opera", r"\b(OPR|OPT|Opera)/"),
    ("Samsung Internet", r"\bSamsungBrowser/"),
    ("Vivaldi", r"\bVivaldi/"),
    ("DuckDuckGo", r"\bDuckDuckGo/|\bDdg/"),
    ("Firefox", r"\b(Firefox|FxiOS)/"),
    ("Chrome", r"\b(Headless)?(Chrome|CriOS)/"),
    ("Chromium", r"\bChromium/"),
    ("Safari", r"\bVersion/[\d.]+ .*\bSafari/|\bAppleWebKit/.*\bMobile/"),
)
_SYSTEMS = (
    ("iPhone", r"\biPhone\b"),
    ("iPad", r"\biPad\b"),
    ("Android", r"\bAndroid\b"),
    ("ChromeOS", r"\bCrOS\b"),
    ("Windows", r"\bWindows\b"),
    ("Mac", r"\bMac(intosh|OS| OS X)\b"),
    ("Linux", r"\bLinux\b|\bX11\b"),
)
_PRODUCT = re.compile(r"[A-Za-z][A-Za-z0-9 ._+-]*")


class Agent(NamedTuple):
    """The names of a program and its system; None where the user agent does not contain one."""

    program: str | None
    system: str | None


@lru_cache(maxsize=1024)  # lists of sign-ins and events have the same ones again and again
def describe(agent: str | None) -> Agent:
    """The names of program and system in ``agent``, a User-Agent header."""
    text = (agent or "")[:300]
    return Agent(_first(_BROWSERS, text) or _product(text), _first(_SYSTEMS, text))


def in_words(agent: str | None) -> str:
    """``agent`` for an administrator, in English: "Firefox on Windows", or a dash."""
    return " on ".join(filter(None, describe(agent))) or "–"


def _first(patterns: tuple[tuple[str, str], ...], text: str) -> str | None:
    return next((name for name, pattern in patterns if re.search(pattern, text)), None)


def _product(text: str) -> str | None:
    """The name of the first product (RFC 9110, section 10.1.5), such as ``curl``."""
    found = _PRODUCT.match(text)
    name = found[0].strip()[:_MAX_SHOWN] if found else ""
    return None if not name or name == "Mozilla" else name
