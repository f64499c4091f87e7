"""`Traffic` with all else that a service does: codes, second factors, and the console."""

import asyncio
import uuid
from dataclasses import dataclass
from itertools import cycle
from urllib.parse import parse_qs, urlencode, urlsplit

from sqlalchemy import update
from sqlalchemy.orm import Session as Transaction

from authsite.groups import administrators
from authsite.oauth.clients import registration
from authsite.oauth.clients.fields import ClientFields
from authsite.oauth.consents import service as consents
from authsite.oauth.oidc.keys import rotation
from authsite.platform.audit.service import Cause
from authsite.platform.context import Context, make_services
from authsite.platform.crypto.sealing import Binding
from authsite.platform.http.request_info import RequestInfo
from authsite.platform.runtime import clock
from authsite.platform.settings import load, read_ini
from authsite.sign_in.credentials import pack
from authsite.sign_in.factors import service as factors
from authsite.sign_in.gate import without_proof
from authsite.sign_in.methods.totp import enrollment
from authsite.sign_in.methods.totp.models import SECRET, TotpFactor
from authsite.sign_in.sessions import service as sessions
from authsite.sign_in.sessions.models import BrowserSession
from authsite.signup.service import register
from authsite.users.account import account_of

from .traffic import PASSWORD, TOKEN, Traffic, good

# A second. A login hashes a password, and a code of an app counts once in its 30 seconds.
RATES = {
    "guard": 20, "refresh": 8, "login": 0.7, "app": 0.3, "code": 1, "console": 0.5,
    "forgot": 0.2, "logout": 0.5,
}  # fmt: skip
PEOPLE = 20  # with an authenticator app each: one signs in every 66 seconds
KEY = b"12345678901234567890"
CALLBACK = "https://client.example/callback"
SCOPE = "openid email profile"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"  # of RFC 7636, appendix B
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
PAGES = ("/admin/users", "/admin/users?q=person", "/admin/audit", "/admin/clients")


@dataclass(frozen=True)
class People:
    """What `Everything` needs: addresses, the cookies of browsers, a client that uses codes."""

    addresses: list
    browsers: list
    administrator: dict
    client: dict


class Everything(Traffic):
    """``of_codes``: the access tokens of exchanges that were answered."""

    def __init__(self, port, client, own_sessions, people):
        super().__init__(port, client, own_sessions, rates=RATES)
        self.people, self.of_codes = people, []
        self._addresses, self._browsers = cycle(people.addresses), cycle(people.browsers)
        self._pages = cycle(PAGES)

    async def _app(self, due):
        form = {"grant_type": "password", "username": next(self._addresses), "password": PASSWORD}
        form |= {"otp": enrollment.code_at(KEY, enrollment.step_at(clock.now()))}
        answer, body = await self._send("app", due, b"POST", TOKEN, form=form | self.client)
        if good(answer):
            self.made.append(body["access_token"])

    async def _code(self, due):
        ask = {
            "client_id": self.people.client["client_id"], "response_type": "code",
            "redirect_uri": CALLBACK, "scope": SCOPE, "state": "s",
            "code_challenge": CHALLENGE, "code_challenge_method": "S256",
        }  # fmt: skip
        path, jar = f"/oauth/authorize?{urlencode(ask)}", next(self._browsers)
        answer, body = await self._send("code", due, b"GET", path, jar=jar, to=CALLBACK)
        if not good(answer):
            return
        form = {
            "grant_type": "authorization_code", "redirect_uri": CALLBACK,
            "code": parse_qs(urlsplit(body["location"]).query)["code"][0],
            "code_verifier": VERIFIER,
        } | self.people.client  # fmt: skip
        now = self.began + self.now()
        answer, body = await self._send("code", now, b"POST", TOKEN, form=form)
        if good(answer):
            self.of_codes.append(body["access_token"])
            await asyncio.sleep(0.1)
            now = self.began + self.now()
            token = body["access_token"]
            await self._send("code", now, b"GET", "/v1/oauth/userinfo", bearer=token)

    async def _console(self, due):
        """The console notes the last use in a cookie: without it half an hour has passed."""
        jar = self.people.administrator
        await self._send("console", due, b"GET", next(self._pages), jar=jar)


def fill(made):
    """People with an app, signed in at a browser, who allowed an application; an owner."""
    services = make_services(load(read_ini(made.ini), {}), limits=False)
    database = services.database
    with Transaction(database.transactional, expire_on_commit=False) as db:
        ctx = Context(services, RequestInfo, lambda: db)
        with db.begin():
            addresses = [f"person{number}@example.com" for number in range(PEOPLE)]
            users = [_confirmed(ctx, each) for each in (*addresses, "owner@example.com")]
            fields = ClientFields(redirect_uris=(CALLBACK,))
            client, secret = registration.register(ctx, "web", "server", SCOPE, SCOPE, fields)
            administrators.grant(ctx, users[-1], "owner", Cause("command"))
        rotation.make_missing(services)
        with db.begin():
            accounts = [account_of(each) for each in users]
            keys = [sessions.begin(ctx, without_proof(each), remember=False) for each in accounts]
            for each in accounts:
                consents.give(ctx, each.id, client.id, SCOPE)
                _add_app(ctx, each)
            strong = {"facts": pack(("pwd", "otp")), "auth_at": clock.now()}
            db.execute(update(BrowserSession).values(strong))
    database.dispose()
    *browsers, administrator = [{"authsite": key} for key in keys]
    form = {"client_id": str(client.id), "client_secret": secret}
    return People(addresses, browsers, administrator, form)


def _confirmed(ctx, address):
    user = register(ctx, {"email": address}, PASSWORD)
    user.email_verified_at = clock.now()
    return user


def _add_app(ctx, account):
    factors.lock(ctx, account)
    id_ = uuid.uuid4()
    secret = ctx.services.sealing.seal(KEY, Binding(SECRET, id_, user=account.id))
    ctx.db.add(
        TotpFactor(
            id=id_, user_id=account.id, secret=secret, digits=enrollment.DIGITS,
            period=enrollment.PERIOD, algorithm=enrollment.ALGORITHM, last_step=0, failures=0,
            created_at=clock.now(),
        )
    )  # fmt: skip
    ctx.db.flush()
    factors.added(ctx, account, "totp", id_, None)
