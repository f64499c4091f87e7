"""The part of the walk that is about passkeys."""

import json
from urllib.parse import urlsplit

from sqlalchemy import update

from authsite.oauth.models import Family
from authsite.platform.runtime import clock
from authsite.sign_in.credentials import pack
from tests.support.authenticator import Authenticator
from tests.support.pages import submit
from tests.support.site import PASSWORD, bearer
from tests.support.walk_pages import base_of


def passkeys(site, keys):
    """Add one, sign in with it, rename and remove it."""
    user = site.user("pat@example.com", confirmed=True)
    headers = bearer(site.login(keys, "pat@example.com")["access_token"])
    with site.db() as db:
        may_change = {"facts": pack(("pwd", "email", "otp")), "auth_at": clock.now()}
        db.execute(update(Family).where(Family.user_id == user.id).values(may_change))
    base = base_of(site)
    parts = urlsplit(base)
    origin, own, path = f"{parts.scheme}://{parts.netloc}", Authenticator(), "/v1/user/passkeys"
    proof = {"current_password": PASSWORD}
    options = site.http.post_json(f"{path}/options", proof, headers=headers).json
    body = {"credential": own.create(options, origin=origin), "end_others": False}
    made = site.http.post_json(path, body, headers=headers).json
    site.http.patch_json(f"{path}/{made['id']}", {"name": "Desk"}, headers=headers)
    site.http.get(f"{base}/.well-known/webauthn")
    site.http.get(f"{base}/login/passkey", status=303)
    for more in ({"origin": "null"}, {}):
        asked = site.http.get(f"{base}/login/passkey/options").json
        credential = json.dumps(own.get(asked, **{"origin": origin, **more}))
        answer = submit(site, "/login/passkey", page="/login", credential=credential)
    assert answer.status_int == 303
    submit(site, "/logout")
    site.http.delete_json(f"{path}/{made['id']}", proof, headers=headers)
