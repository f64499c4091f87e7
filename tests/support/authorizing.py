"""An application that signs its users in at ``/oauth/authorize``, and a browser on the way there.

app = application(site)
code = code_for(site, app)          # signs Ann in, and allows what the application asks for
back = answer_of(authorize(site, app, prompt="none"))
"""

import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256
from html import unescape
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import UUID, uuid4

from authsite.oauth.clients.service import hash_secret, new_secret
from authsite.oauth.models import PUBLIC_TYPES, REDIRECT, Client, ClientUri
from authsite.platform.runtime import clock
from tests.support.pages import csrf_of
from tests.support.site import PASSWORD

BASE = "https://auth.example.com"
CALLBACK = "https://app.example.org/callback"
VERIFIER = "tT9mFqYVx4ZpLw2cNs7RbKd8HgJe5UaX1oQi3Bv6CyE"
OPENID = {"base_url": BASE}
"""The settings of a site that has the endpoint: ``site_with(**OPENID)``."""


@dataclass(frozen=True)
class Application:
    """A registered client and its keys."""

    client_id: str
    client_secret: str
    redirect_uri: str
    name: str

    @property
    def id(self):
        return UUID(self.client_id)


def application(
    site, type="server", *, redirect_uris=(CALLBACK,), scope="", name="Wiki", **columns
):
    """A client of a type that uses codes; ``columns`` of `Client`."""
    secret, at, id = new_secret(), clock.now(), uuid4()
    hashed = "" if type in PUBLIC_TYPES else hash_secret(secret)
    with site.db() as db:
        db.add(
            Client(
                id=id, name=name, type=type, scope=scope, secret_hash=hashed,
                created_at=at, updated_at=at, **columns,
            )
        )  # fmt: skip
        db.flush()
        for position, uri in enumerate(redirect_uris):
            db.add(ClientUri(id=uuid4(), client_id=id, kind=REDIRECT, uri=uri, position=position))
    return Application(str(id), secret, redirect_uris[0], name)


def challenge_of(verifier=VERIFIER):
    """The ``code_challenge`` of S256."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def parameters(app, **changed):
    """The parameters of a valid request; ``changed``: others, and None for one to leave out."""
    sent = {
        "response_type": "code",
        "client_id": app.client_id,
        "redirect_uri": app.redirect_uri,
        "scope": "openid email",
        "state": "st-1",
        "nonce": "no-1",
        "code_challenge": challenge_of(),
        "code_challenge_method": "S256",
    }
    sent |= changed
    return {name: value for name, value in sent.items() if value is not None}


def url_of(app, **changed):
    """The URL of a request."""
    return f"{BASE}/oauth/authorize?{urlencode(parameters(app, **changed))}"


def authorize(site, app, *, headers=None, pressed=True, **changed):
    """What the endpoint answers to the GET of a request.

    ``pressed``: after the press on the page that comes before a document is fetched.
    """
    answer = site.http.get(url_of(app, **changed), headers=headers, status="*")
    return press(site, answer, "continue") if pressed and asks_to_fetch(answer) else answer


def asks_to_fetch(answer):
    """Whether it is the page that comes before the document of an unknown host is fetched."""
    return "An application wants you to sign in" in answer.text


def target_of(answer):
    """Where an answer leads: by a redirect, or by a page with a refresh; None if nowhere."""
    if answer.status_int in (302, 303):
        return answer.location
    found = re.search(r'http-equiv="refresh" content="0;url=([^"]*)"', answer.text)
    return unescape(found[1]) if found else None


def answer_of(answer):
    """The parameters that an answer carries to the application."""
    target = target_of(answer)
    assert target is not None, answer
    assert not target.startswith(BASE), target
    return dict(parse_qsl(urlsplit(target).query))


def leads_to(answer):
    """The path of our own page that an answer leads to."""
    target = target_of(answer)
    assert target is not None, answer
    assert target.startswith(BASE), target
    return urlsplit(target).path


def log_in(site, page, username="ann@example.com", password=PASSWORD):
    """Fill in the login page that an answer leads to; what comes after it, as a browser does."""
    shown = site.http.get(target_of(page), status=200)
    form = next(each for each in shown.forms.values() if "password" in each.fields)
    form["username"], form["password"] = username, password
    return follow(site, form.submit(status="*"))


def follow(site, answer):
    """The answer at the end of the redirects to our own pages."""
    while answer.status_int in (302, 303) and answer.location.startswith(BASE):
        answer = site.http.get(answer.location, status="*")
    return answer


def asks_consent(answer):
    """Whether the answer is the page that asks what the application may do."""
    return 'value="allow"' in answer.text


def press(site, page, decision="allow"):
    """Press a button of a page of the endpoint."""
    form = next(each for each in page.forms.values() if "decision" in each.fields)
    return follow(site, form.submit("decision", value=decision, status="*"))


def sign_in(site, username="ann@example.com", password=PASSWORD):
    """Sign a browser in, without any application."""
    shown = site.http.get(f"{BASE}/login")
    form = {"csrf_token": csrf_of(shown), "username": username, "password": password}
    return site.http.post(f"{BASE}/login", form, status=303)


def code_for(site, app, *, username="ann@example.com", password=PASSWORD, **changed):
    """A code for a request: the user signs in and allows it, as far as a page asks."""
    answer = authorize(site, app, **changed)
    if target_of(answer) and target_of(answer).startswith(f"{BASE}/login"):
        answer = log_in(site, answer, username, password)
    if asks_consent(answer):
        answer = press(site, answer)
    return answer_of(answer)["code"]


def redeemed(site, app, code, *, verifier=VERIFIER, status=200, **form):
    """POST /v1/oauth/token with a code; the answer's JSON."""
    sent = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": app.redirect_uri,
        "code_verifier": verifier,
        "client_id": app.client_id,
        "client_secret": app.client_secret,
        **form,
    }
    sent = {name: value for name, value in sent.items() if value is not None}
    return site.http.post(f"{BASE}/v1/oauth/token", sent, status=status).json
