"""User agents in few words: "Firefox", "Linux". For people who look where they are signed in.

Only what most people use is known, in an order that sees through agents which name others too
(every browser says Mozilla, Edge says Chrome, Chrome says Safari). An agent is a claim: it is shown
and decides nothing.
"""

import re
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
    """What to call a program and its system; None where the agent does not say."""

    program: str | None
    system: str | None


def describe(agent: str | None) -> Agent:
    """``agent``, a User-Agent header, in words for people."""
    text = (agent or "")[:300]
    return Agent(_first(_BROWSERS, text) or _product(text), _first(_SYSTEMS, text))


def _first(known: tuple[tuple[str, str], ...], text: str) -> str | None:
    return next((name for name, pattern in known if re.search(pattern, text)), None)


def _product(text: str) -> str | None:
    """The first product (RFC 9110, section 10.1.5), as programs name themselves: ``curl``."""
    found = _PRODUCT.match(text)
    name = found[0].strip()[:_MAX_SHOWN] if found else ""
    return None if not name or name == "Mozilla" else name
