"""Applications that sign their users out at ``/oauth/logout``, and the page that asks first."""

from urllib.parse import urlencode
from uuid import uuid4

from authsite.oauth.models import POST_LOGOUT, ClientUri
from authsite.oauth.oidc.id_tokens import sign
from authsite.platform.runtime import clock
from tests.support.acting import acting
from tests.support.authorizing import BASE, target_of
from tests.support.pages import csrf_of

PATH = f"{BASE}/oauth/logout"
GOODBYE = "https://app.example.org/goodbye"
OTHER = "https://app.example.org/other?a=b"


def register(site, app, *uris):
    """Addresses to which the application may lead after a logout."""
    with site.db() as db:
        for position, uri in enumerate(uris):
            of = {"id": uuid4(), "client_id": app.id, "kind": POST_LOGOUT}
            db.add(ClientUri(**of, uri=uri, position=position))


def hint_of(tokens):
    return tokens["id_token"]


def hint(site, app, **claims):
    """An ID token that we have signed."""
    now = int(clock.now().timestamp())
    given = {
        "iss": BASE,
        "sub": str(uuid4()),
        "aud": app.client_id,
        "exp": now + 60,
        "iat": now,
        "sid": str(uuid4()),
        **claims,
    }
    return sign(acting(None, site.app.registry["authsite"]), given, "RS256")


def sent(hint=None, **more):
    """The parameters of a request; ``more``: others, and None for one to leave out."""
    given = {"id_token_hint": hint, "post_logout_redirect_uri": GOODBYE, "state": "st-9", **more}
    return {name: value for name, value in given.items() if value is not None}


def ask(site, hint=None, **more):
    """What a GET of the endpoint answers."""
    return site.http.get(f"{PATH}?{urlencode(sent(hint, **more))}", status="*")


def signed_in(site):
    return site.http.get(f"{BASE}/account", status="*").status_int == 200


def press(site, page, status=200):
    """Press the button of the page."""
    form = {"csrf_token": csrf_of(page), "decision": "sign_out"}
    return site.http.post(page.request.url, form, status=status)


def asks(page, status=200):
    """Whether an answer is the page with the button, and leads nowhere by itself."""
    return page.status_int == status and target_of(page) is None and 'value="sign_out"' in page.text
