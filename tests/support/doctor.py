"""The findings of ``authsite doctor``."""

from authsite.checks.findings import LINES
from tests.support.site import WEB

WEB_IS = {"CLIENT_WEB_ID": WEB["clients.web.id"], "CLIENT_WEB_SECRET": WEB["clients.web.secret"]}
NO_WEB = dict.fromkeys(WEB_IS)


def line(findings, name, subject):
    """The message of the finding that the line ``name`` makes about ``subject``."""
    state, words = LINES[name]
    begins, ends = words.split("{")[0], words.split("}")[-1]
    about = [f.message for f in findings if (f.state, f.subject) == (state, subject)]
    [message] = [text for text in about if text.startswith(begins) and text.endswith(ends)]
    assert "{" not in message
    return message
