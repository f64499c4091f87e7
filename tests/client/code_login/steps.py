"""The steps of a sign-in: the request, the answer that the browser brings, and the callback."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from authsite_client import CodeLogin, LoginFailed
from authsite_client.oidc import OidcLogin

KINDS = [CodeLogin, OidcLogin]


def start(login, session, *arguments, **parameters):
    """The parameters of the authorization request."""
    return dict(parse_qsl(urlsplit(login.login_url(session, *arguments, **parameters)).query))


def answer(fake, sent, **changes):
    """The query of a callback to a request, with changes; None leaves a parameter out."""
    fake.nonce = sent["nonce"]
    query = {"code": "ac_1", "state": sent["state"], "iss": fake.url, **changes}
    return {name: value for name, value in query.items() if value is not None}


def sign_in(fake, login, session=None, **parameters):
    session = {} if session is None else session
    return login.callback(session, answer(fake, start(login, session, **parameters)))


def refused(fake, login, **parameters):
    with pytest.raises(LoginFailed) as caught:
        sign_in(fake, login, **parameters)
    return caught.value
