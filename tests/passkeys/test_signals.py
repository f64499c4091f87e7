"""What the security page tells the browser about passkeys, so that it hides those removed here."""

import json

from sqlalchemy import update

from authsite.sign_in.methods.passkeys.stored import Passkey
from authsite.users.models import User
from tests.support import pages
from tests.support.authenticator import text_of

from .passkey_users import register, sign_in


def told(site):
    page = site.http.get("/account/security")
    elements = page.html.find_all(attrs={"data-signals": True})
    return [json.loads(each["data-signals"]) for each in elements]


def test_the_accepted_ones_and_the_present_name(site):
    user = site.user(confirmed=True)
    with site.db() as db:
        db.execute(update(User).values(name="Ann <Lee>'s"))
    first, second = register(site, user), register(site, user)
    register(site, site.user("bob@example.com", confirmed=True))
    assert sign_in(site, first).status_int == 303
    assert told(site) == [
        {
            "rpId": "localhost",
            "userId": first.handle,
            "allAcceptedCredentialIds": [text_of(first.id), text_of(second.id)],
            "name": "ann@example.com",
            "displayName": "Ann <Lee>'s",
        }
    ]


def test_nothing_without_passkeys_or_with_those_of_another_domain(site):
    user = site.user(confirmed=True)
    pages.sign_in(site)
    assert told(site) == []
    register(site, user)
    with site.db() as db:
        db.execute(update(Passkey).values(rp_id="old.example"))
    assert told(site) == []
