"""Using the pages without a browser."""

import re
from html import unescape

from tests.support.site import PASSWORD


def csrf_of(answer):
    """The CSRF token of the first form of a page."""
    return re.search(r'name="csrf_token"[^>]*value="([0-9a-f]+)"', answer.text)[1]


def hidden_in(answer, name):
    """The value of the hidden field ``name`` of a page."""
    return unescape(re.search(rf'name="{name}"[^>]*value="([^"]*)"', answer.text)[1])


def submit(site, path, *, page=None, headers=None, **fields):
    """Open a page, send its form to ``path``; the answer.

    ``page`` is a path or a whole link; without it the page is that of the form's own path.
    """
    own = next(iter(site.cfg.base_url), "")  # a secure cookie is only sent over https
    page = page or (path if path != "/logout" else "/account")
    shown = site.http.get(own + page if page.startswith("/") else page, status="*")
    form = {"csrf_token": csrf_of(shown), **fields}
    return site.http.post(own + path, form, headers=headers, status="*")


def sign_in(site, username="ann@example.com", password=PASSWORD, **fields):
    """Log in by the page; the redirect that answers."""
    answer = submit(site, "/login", username=username, password=password, **fields)
    assert answer.status_int == 303, answer
    return answer
