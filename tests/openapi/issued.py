"""What a site has issued to Ann, the user of the examples: what only a server can make up."""

import json
from base64 import b32decode
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from sqlalchemy import update

from authsite.oauth.models import DEVICE_GRANT, MFA_GRANT, PASSKEY_GRANT, Client, Family
from authsite.platform.runtime import clock
from authsite.sign_in import gate
from authsite.sign_in import pending as pending_logins
from authsite.sign_in.credentials import pack
from authsite.sign_in.method import Target
from authsite.sign_in.pending import PendingLogin
from authsite.users.models import User
from tests.passkeys.passkey_users import origin_of, register
from tests.passkeys.passkey_users import rows as passkeys_of
from tests.support import connected, databases, factors
from tests.support.authenticator import Authenticator
from tests.support.codes import application, code_of
from tests.support.devices import approved
from tests.support.identities import linked
from tests.support.mails import link_in
from tests.support.pages import sign_in
from tests.support.site import WEB, bearer

PASSWORD = "correct-horse-battery-staple"  # of every example
VERIFY, RESET = "https://app.example.com/verified", "https://app.example.com/reset"
PAGES = {
    "A": {"allowed_verify_email_urls": VERIFY, "allowed_reset_password_urls": RESET},
    "B": {"users_confirm_email_url": VERIFY, "users_reset_password_url": RESET},
}


class Issued:
    """What a site has issued to Ann, the user of the examples."""

    def __init__(self, site):
        self.site, self.http = site, site.http
        self.keys = site.client(scope="reports:read", default_scope="reports:read")
        site.first_party("web")
        self.ann = site.user(password=PASSWORD)
        self.pair = site.login(self.keys, password=PASSWORD)
        self.headers = bearer(self.pair["access_token"])
        self.of_browser = {}

    def another_session(self):
        self.site.login(self.keys, password=PASSWORD)
        sessions = self.http.get("/v1/user/sessions", headers=self.headers).json["sessions"]
        return {"id": next(each["id"] for each in sessions if not each["current"])}

    def personal_token(self):
        body = {"name": "backup", "current_password": PASSWORD}
        return {"id": self.http.post_json("/v1/user/tokens", body, headers=self.headers).json["id"]}

    def consent(self):
        client_id = connected.application(self.site)
        connected.allow(self.site, self.ann, client_id)
        return {"client_id": str(client_id)}

    def identity(self):
        with self.site.db() as db:
            return {"id": str(linked(db, self.ann.id).id)}

    def pending_address(self):
        body = {"email": "ann.lee@example.com", "current_password": PASSWORD}
        self.http.put_json("/v1/user/email", body, headers=self.headers, status=202)
        return {}

    def link(self):
        """The parameters of a mailed verification link."""
        self.http.post_json(
            "/v1/email/verification-notification",
            {"verification_url": VERIFY},
            headers=self.headers,
            status=202,
        )
        [mail] = self.site.mails()
        [signed] = parse_qs(urlsplit(link_in(mail)).query)["url"]
        *_, user_id, digest = urlsplit(signed).path.split("/")
        query = {name: value for name, [value] in parse_qs(urlsplit(signed).query).items()}
        return {"user_id": user_id, "hash": digest, **query}

    def presented_token(self):
        return self.keys.form(token=self.pair["access_token"])

    def pending(self, client_id, **given):
        """A login with a right password, which waits for a second step."""
        with self.site.db() as db:
            ctx = factors.context(self.site, db)
            client = db.get(Client, UUID(client_id))
            target = Target(client.id, client.epoch, "")
            asked = {"username": "ann@example.com", "password": PASSWORD}
            found = gate.sign_in(ctx, "password", asked, target)
            pending_logins.store(ctx, found)
        return {"mfa_token": f"mt_{found.key}", **given}

    def second_step(self, client_id):
        factors.add_totp(self.site, self.ann)
        return self.pending(client_id, code=factors.code_now())

    def passkey(self, form=None):
        """The credential for a challenge of this client, or else of the proxy."""
        key = register(self.site, self.ann)
        if form:
            asked = self.http.post("/v1/passkeys/options", form).json
        else:
            asked = self.http.post_json("/v1/clients/web/passkey-options", {}).json
        return {"client": "web", "credential": json.dumps(key.get(asked))}

    def enrolling(self):
        """A login that must add a factor, and has proved the mailbox."""
        waiting = self.pending(self.keys.client_id)
        with self.site.db() as db:
            db.execute(update(PendingLogin).values(amr="pwd email"))
        return waiting

    def grant(self, example):
        """The client and the token for an example of the token endpoint."""
        if example["grant_type"] == MFA_GRANT:
            return self.keys.form(**self.second_step(self.keys.client_id))
        if example["grant_type"] == PASSKEY_GRANT:
            return self.keys.form(credential=self.passkey(self.keys.form())["credential"])
        if example["grant_type"] == "client_credentials":
            return self.site.client("personal", name="machine").form()
        if example["grant_type"] == "authorization_code":
            self.browser()
            keys = application(self.site, scope="reports:read", require_confirmed=False)
            return keys.form(code=code_of(self.site, keys, "reports:read"))
        if example["grant_type"] == DEVICE_GRANT:
            self.browser()
            device = {"grant_types": DEVICE_GRANT, "require_confirmed": False}
            keys = application(self.site, scope="reports:read", **device)
            return keys.form(device_code=approved(self.site, keys, "reports:read"))
        if "refresh_token" not in example:
            return self.keys.form()
        return self.keys.form(refresh_token=self.pair["refresh_token"])

    def refresh(self, example):
        """The refresh token of the proxy: in the browser's cookie, or as a parameter."""
        login = {"username": "ann@example.com", "password": PASSWORD}
        pair = self.http.post_json("/v1/clients/web/login", login).json
        if "refresh_token" not in example:
            self.of_browser = {"Sec-Fetch-Site": "same-origin"}
            return {"client": "web"}
        self.http.reset()
        return {"client": "web", "refresh_token": pair["refresh_token"]}

    def browser(self):
        sign_in(self.site, password=PASSWORD)
        return {}

    def reset_token(self):
        return {"token": self.site.reset_token(self.ann)}

    def may_add(self):
        """Ann's browser is known so well that she may add a first factor."""
        since = clock.now() - timedelta(days=30)
        with self.site.db() as db:
            db.execute(update(User).values(email_verified_at=since))
            db.execute(update(Family).values(recognized=since))
        return {}

    def app(self):
        """An authenticator app that has not been confirmed, with its code."""
        self.may_add()
        body = {"current_password": PASSWORD}
        begun = self.http.post_json("/v1/user/totp", body, headers=self.headers).json
        code = factors.code_now(b32decode(begun["secret"]))
        return {"enrollment": begun["enrollment"], "code": code}

    def with_factor(self):
        """Ann has an authenticator app, and has just given its code."""
        factors.add_totp(self.site, self.ann)
        with self.site.db() as db:
            proved = {"facts": pack(("pwd", "otp")), "auth_at": clock.now()}
            db.execute(update(Family).values(proved))
        return {}

    def new_passkey(self):
        """A passkey that the browser has made for the user, and that is not stored yet."""
        self.may_add()
        body = {"current_password": PASSWORD}
        asked = self.http.post_json("/v1/user/passkeys/options", body, headers=self.headers).json
        made = Authenticator(origin=origin_of(self.site)).create(asked)
        return {"credential": json.dumps(made)}

    def stored_passkey(self):
        register(self.site, self.ann)
        [row] = passkeys_of(self.site)
        return {**self.with_factor(), "id": str(row.id)}

    def nobody(self):
        """Ann does not exist yet."""
        databases.empty(self.site.database)
        return {}


# operationId -> the values of parameters and fields that only the server can issue.
VALUES = {
    "get_user_email_pending": lambda issued, _: issued.pending_address(),
    "delete_user_session": lambda issued, _: issued.another_session(),
    "delete_user_token": lambda issued, _: issued.personal_token(),
    "delete_user_consent": lambda issued, _: issued.consent(),
    "delete_user_identity": lambda issued, _: issued.identity(),
    "get_providers": lambda issued, _: {"client": "web"},
    "get_verification_verify": lambda issued, _: issued.link(),
    "post_verification_verify": lambda issued, _: issued.link(),
    "post_oauth_token": lambda issued, example: issued.grant(example),
    "post_oauth_introspect": lambda issued, _: issued.presented_token(),
    "post_oauth_revoke": lambda issued, _: issued.presented_token(),
    "post_recovery_reset": lambda issued, _: issued.reset_token(),
    "post_register": lambda issued, _: issued.nobody(),
    "post_proxy_login": lambda issued, _: {"client": "web"},
    "post_proxy_users_login": lambda issued, _: {"client": "web"},
    "post_proxy_refresh": lambda issued, example: issued.refresh(example),
    "post_proxy_mfa": lambda issued, _: {
        "client": "web",
        **issued.second_step(WEB["clients.web.id"]),
    },
    "post_proxy_passkey_options": lambda issued, _: {"client": "web"},
    "post_proxy_passkey": lambda issued, _: issued.passkey(),
    "post_mfa_enroll": lambda issued, _: issued.enrolling(),
    "post_mfa_email": lambda issued, _: issued.pending(issued.keys.client_id),
    "post_passkeys_options": lambda issued, _: issued.keys.form(),
    "post_user_totp": lambda issued, _: issued.may_add(),
    "post_user_totp_confirm": lambda issued, _: issued.app(),
    "post_user_passkeys_options": lambda issued, _: issued.may_add(),
    "post_user_passkeys": lambda issued, _: issued.new_passkey(),
    "patch_user_passkey": lambda issued, _: issued.stored_passkey(),
    "delete_user_passkey": lambda issued, _: issued.stored_passkey(),
    "delete_user_totp": lambda issued, _: issued.with_factor(),
    "post_user_recovery_codes": lambda issued, _: issued.with_factor(),
    "put_user_second_factor": lambda issued, _: issued.with_factor(),
    "get_guard_web": lambda issued, _: issued.browser(),
    "get_guard_any": lambda issued, _: issued.browser(),
}

# operationId -> the settings that it needs.
NEEDS = {
    "post_mfa_enroll": {"second_factor": "required"},
    "post_mfa_email": {"second_factor": "required"},
}
