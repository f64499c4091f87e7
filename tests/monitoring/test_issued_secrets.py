"""The secrets of factors, passkeys and pending logins are written nowhere: in no log and no row.

`test_canaries.py` has what clients send; this is what the server issues to them.
"""

import html
import json
import logging
import re
from base64 import b32decode

import pytest
from pyramid.events import NewResponse

from tests.support import databases
from tests.support.site import Site
from tests.support.statements import noted
from tests.support.walk import SETTINGS, walk

RECOVERY = r"[0-9A-HJKMNP-TV-Z]{4}(?:-[0-9A-HJKMNP-TV-Z]{4}){5}"
KINDS = {  # how each looks in requests and responses
    "TOTP secret": r"[?&]secret=([A-Z2-7]{32})",
    "recovery code": rf"\b({RECOVERY})\b",
    "mailed code": r"\b([B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4})\b",
    "mfa token": r"\b(mt_[\w-]{20,})",
    "enrollment": r"\b(et_[\w.:+/=-]{20,})",
    "challenge": r'"challenge": ?"([\w-]{20,})"',
}
COOKIES = ("authsite-login", "authsite-factor")


def found_in(text):
    """The secrets in a body, by kind; a sealed enrollment in a page is escaped."""
    plain = html.unescape(text)
    return {(kind, each) for kind, form in KINDS.items() for each in re.findall(form, plain)}


def shapes(kind, secret):
    """The forms in which a secret would open something, if it were found."""
    if kind == "TOTP secret":
        raw = b32decode(secret)
        return {secret, raw.hex(), repr(raw)[2:-1]}
    return {secret, secret.replace("-", "")} if "code" in kind else {secret}


@pytest.mark.control("T02")
def test_what_is_issued_is_found_again_nowhere(fresh_url, caplog, capfd):
    url = databases.migrated(fresh_url)
    site = Site(url, base_url="http://localhost", **SETTINGS)
    keys, issued, written = site.first_party("web"), set(), []

    def note(event):
        answer, request = event.response, event.request
        given = getattr(getattr(request, "authsite", None), "validated", None)
        issued.update(found_in(str(given and given.model_dump())))
        issued.update(found_in(answer.text if answer.charset else ""))
        for name, value in request.cookies.items():
            if name in COOKIES:
                issued.add((name, value))

    site.app.registry.registerHandler(note, [NewResponse])
    with (
        caplog.at_level(logging.DEBUG),
        noted(site.database, lambda sql, values: written.append(f"{sql} {values!r}")),
    ):
        walk(site, keys)
    site.database.dispose()
    assert {kind for kind, _ in issued} == {*KINDS, *COOKIES}
    out, err = capfd.readouterr()
    places = {"log": "".join((caplog.text, out, err)), "statements": "\n".join(written)}
    assert "INSERT INTO outbox" in places["statements"]
    assert "INSERT INTO audit_events" in places["statements"]
    for place, text in places.items():
        leaked = [kind for kind, each in issued if any(it in text for it in shapes(kind, each))]
        assert leaked == [], place


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (
            json.dumps({"otpauth_uri": f"otpauth://totp/a?secret={'A' * 32}&issuer=a"}),
            "TOTP secret",
        ),
        ("<li>7Q4M-92RT-XK3D-0HVB-5WZE-P1NC</li>", "recovery code"),
        ("mail_code=WDJB-MJHT", "mailed code"),
        (json.dumps({"mfa_token": f"mt_{'x' * 43}"}), "mfa token"),
        (f'value="et_{"x" * 43}"', "enrollment"),
        ("{&#34;challenge&#34;: &#34;abcdefghijklmnopqrstuvwx&#34;}", "challenge"),
    ],
)
def test_every_kind_is_recognized(body, kind):
    assert kind in {each for each, _ in found_in(body)}
