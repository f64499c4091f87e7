"""The part of the walk that is about authenticator apps and recovery codes."""

import pyotp
from sqlalchemy import update

from authsite.oauth.models import Family
from authsite.platform.runtime import clock
from authsite.sign_in.credentials import pack
from tests.support.site import PASSWORD, bearer


def an_app(site, keys):
    """Add an authenticator app by the API, make new recovery codes, remove it."""
    user = site.user("tom@example.com", confirmed=True)
    headers = bearer(site.login(keys, "tom@example.com")["access_token"])
    with site.db() as db:
        by_mail = {"facts": pack(("email",)), "auth_at": clock.now()}
        db.execute(update(Family).where(Family.user_id == user.id).values(by_mail))
    proof = {"current_password": PASSWORD}
    begun = site.http.post_json("/v1/user/totp", proof, headers=headers).json
    code = pyotp.TOTP(begun["secret"]).at(clock.now())
    body = {"enrollment": begun["enrollment"], "code": code}
    site.http.post_json("/v1/user/totp/confirm", body, headers=headers)
    site.http.get("/v1/user/factors", headers=headers)
    site.http.post_json("/v1/user/recovery-codes", proof, headers=headers)
    switch = {**proof, "after_password": True}
    site.http.put_json("/v1/user/second-factor", switch, headers=headers)
    site.http.delete("/v1/user/remembered-browsers", headers=headers)
    site.http.delete_json("/v1/user/totp", proof, headers=headers)
