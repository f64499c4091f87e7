"""Plain text and JSON as HTML: paragraphs, code, and colours for what JSON is made of."""

import json
import re
from typing import Any

from markupsafe import Markup, escape

_CODE = re.compile(r"(`+)(.+?)\1")
# A key, another string, a number, or one of the three words; of text that is escaped already.
_STRING = r"&#34;(?:\\(?:&#34;|.)|(?!&#34;|\\).)*&#34;"
_JSON = re.compile(
    rf"(?P<key>{_STRING})(?=:)|(?P<string>{_STRING})"
    r"|(?P<word>\b(?:true|false|null|\d+(?:\.\d+)?)\b)"
)


def prose(text: str) -> Markup:
    """Paragraphs, split at blank lines."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    return Markup("").join(Markup("<p>{}</p>").format(in_line(each)) for each in paragraphs if each)


def in_line(text: str) -> Markup:
    """``text`` with what stands in backticks as code."""
    return Markup(_CODE.sub(r"<code>\2</code>", str(escape(text))))  # noqa: S704  escaped above


def as_json(value: Any) -> Markup:
    """``value`` as indented JSON."""
    text = str(escape(json.dumps(value, indent=2, ensure_ascii=False)))
    return Markup(_JSON.sub(_colored, text))  # noqa: S704  escaped above


def _colored(match: re.Match[str]) -> str:
    return f'<span class="json-{match.lastgroup}">{match[0]}</span>'
