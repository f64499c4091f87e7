"""From a letter to its subject, text and HTML, in the reader's language."""

import re
import textwrap
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urljoin

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from authsite.colours import BLACK, VISIBLE, WHITE, readable_on, towards
from authsite.i18n import translations
from authsite.settings import Settings

from .leases import Claimed
from .letters import Letter
from .wording import lifetime_words, moment_words, tame_name

TEMPLATES = Path(__file__).parent.parent / "templates" / "mail"
WIDTH = 72  # characters of a line of text
ACCENT = "#3452c9"  # that of the pages
# In a narrow headline the word would be torn apart after its one letter.
_E_MAIL = re.compile(r"\b([Ee])-(?=[Mm]ail)")


@dataclass(frozen=True, slots=True)
class Rendered:
    """What its reader sees of a letter."""

    subject: str
    text: str
    html: str


def render(letter: Letter, mail: Claimed, cfg: Settings, now: datetime) -> Rendered:
    """``letter`` for the row ``mail``; raises jinja2's errors for a template that is wrong."""
    text = environment(mail.language, "txt").get_template(f"{letter.template}.txt")
    # The subject sees the site's name and nothing else: no header carries what a user wrote.
    heading = text.blocks["subject"](text.new_context({"site_name": cfg.site_name}))
    subject = " ".join("".join(heading).split())
    values = _values(letter, mail, cfg, now) | {"subject": subject}
    html = environment(mail.language, "html").get_template(f"{letter.template}.html")
    return Rendered(subject, text.render(values), html.render(values))


@cache
def environment(language: str, kind: Literal["txt", "html"]) -> Environment:
    """The letters' templates in ``language``: HTML is escaped, text is not."""
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        extensions=["jinja2.ext.i18n"],
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["wrap"] = wrap
    catalogue = translations(language)
    unbroken = _E_MAIL.sub if kind == "html" else lambda _hyphen, words: words
    templates.install_gettext_callables(  # type: ignore[attr-defined]  # the extension's
        lambda words: unbroken("\\1\u2011", catalogue.gettext(words)),
        catalogue.ngettext,
        newstyle=True,
    )
    return templates


def wrap(paragraph: str) -> str:
    """``paragraph`` in lines of 72 characters; a longer word, such as an address, stays whole."""
    return textwrap.fill(
        " ".join(paragraph.split()), WIDTH, break_long_words=False, break_on_hyphens=False
    )


def _values(letter: Letter, mail: Claimed, cfg: Settings, now: datetime) -> dict[str, Any]:
    accent = cfg.accent_color or ACCENT
    return {
        "language": mail.language,
        "site_name": cfg.site_name,
        "site_logo": _logo(cfg, mail),
        "accent": accent,
        "on_accent": readable_on(accent),
        "accent_edge": towards(accent, BLACK, (WHITE,), VISIBLE),  # a pale button needs one
        "link": letter.link,
        "name": tame_name(letter.name),
        "address": mail.address,
        "when": moment_words(mail.created_at, mail.language),
        "lifetime": mail.expires_at
        and lifetime_words(mail.created_at, mail.expires_at, now, mail.language),
    }


def _logo(cfg: Settings, mail: Claimed) -> str | None:
    """The logo's full address: a mail has no page that a path could start from."""
    base = cfg.base_url or mail.base_url
    if cfg.site_logo is None or cfg.site_logo.startswith("http"):
        return cfg.site_logo
    return urljoin(base, cfg.site_logo) if base else None
