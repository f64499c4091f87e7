"""No secret that was handed out or typed is found again: not in the database, its WAL or a log."""

import base64
import binascii
import json
from pathlib import Path
from secrets import token_bytes
from urllib.parse import quote, quote_plus

import pytest
from sqlalchemy import text

from authsite.platform.db.base import Base
from tests.support import databases
from tests.support.home import Home
from tests.support.servers import serving, write_ini
from tests.support.site import SECRET, WEB, Site, bearer

pytestmark = [pytest.mark.slow, pytest.mark.both_databases]
RIGHT = "right kestrel of seven rivers"
PEPPER = "Zt5MvQ1xNbC8rWy4LkPs7DhFj2GaUe9T"


class Flow:
    """The flows of a user's day against a real server; ``secrets`` are all that must not stay."""

    def __init__(self, http, site):
        self.http, self.site = http, site
        self.secrets = {RIGHT, PEPPER, SECRET, WEB["clients.web.secret"]}
        self._count = 0

    def canary(self, where):
        """A new word that stands for what a person typed there."""
        self._count += 1
        made = f"canary-{self._count}-{where}-{binascii.crc32(where.encode()):08x}"
        self.secrets.add(made)
        return made

    def keep(self, answer):
        """Note the tokens and cookies of an answer."""
        if answer.headers.get("Content-Type", "").startswith("application/json"):
            for name in ("access_token", "refresh_token", "token"):
                if name in answer.json():
                    self.secrets.add(answer.json()[name])
        self.secrets.update(self.http.cookies.jar and [c.value for c in self.http.cookies.jar])
        return answer

    def token(self, keys, **form):
        return self.keep(self.http.post("/v1/oauth/token", data=keys.form(**form)))


def walk(flow):
    """Everything that this service does with secrets, done well and done wrong."""
    http, site = flow.http, flow.site
    web = site.first_party("web")
    machine = site.client("personal")
    flow.secrets.add(machine.client_secret)
    register = {"email": "bo@example.com", "password": RIGHT, "name": "Bo"}
    assert http.post("/v1/register", json=register).status_code == 201
    for weak in (f"{flow.canary('taken')} x y z", f"{flow.canary('again')} x y z"):
        flow.secrets.add(weak)
        assert http.post("/v1/register", json=register | {"password": weak}).status_code == 422
    for grant in ("password", "proxy"):
        log_in_and_out(flow, web, grant)
    tokens = flow.token(machine, grant_type="client_credentials").json()
    flow.token(machine, grant_type="refresh_token", refresh_token=tokens["refresh_token"])
    reuse(flow, web)
    wrong_logins(flow, web)
    wrong_requests(flow, web)


def log_in_and_out(flow, web, grant):
    form = {"username": "bo@example.com", "password": RIGHT}
    if grant == "password":
        answer = flow.token(web, grant_type="password", **form)
        fresh = flow.token(
            web, grant_type="refresh_token", refresh_token=answer.json()["refresh_token"]
        )
    else:
        answer = flow.keep(flow.http.post("/v1/clients/web/login", data=form))
        own = {"Origin": str(flow.http.base_url).rstrip("/")}
        fresh = flow.keep(flow.http.post("/v1/clients/web/refresh", headers=own))
    assert fresh.status_code == 200
    headers = bearer(fresh.json()["access_token"])
    assert flow.http.get("/v1/user", headers=headers).status_code == 200
    personal_token(flow, headers)
    assert flow.http.delete("/v1/logout/", headers=headers).status_code == 200
    assert flow.http.get("/v1/user", headers=headers).status_code == 401


def personal_token(flow, headers):
    body = {"name": "backup", "current_password": RIGHT}
    answer = flow.keep(flow.http.post("/v1/user/tokens", json=body, headers=headers))
    own = bearer(answer.json()["token"])
    assert flow.http.get("/v1/user", headers=own).status_code == 200
    assert flow.http.get("/v1/user/tokens", headers=own).status_code == 403


def reuse(flow, web):
    form = {"username": "bo@example.com", "password": RIGHT}
    first = flow.token(web, grant_type="password", **form).json()["refresh_token"]
    token = first
    for _ in range(2):
        token = flow.token(web, grant_type="refresh_token", refresh_token=token).json()[
            "refresh_token"
        ]
    assert flow.token(web, grant_type="refresh_token", refresh_token=first).status_code == 400


def wrong_logins(flow, web):
    """A wrong password, and a password typed where the name belongs."""
    for path, keys in (("/v1/oauth/token", web.form(grant_type="password")), (
        "/v1/clients/web/login", {}
    )):  # fmt: skip
        for name in ("bo@example.com", flow.canary("name"), f"{flow.canary('mail')}@example.com"):
            form = keys | {"username": name, "password": flow.canary("password")}
            assert flow.http.post(path, data=form).status_code == 400


def wrong_requests(flow, web):
    """Each place where a secret can be sent to by mistake."""
    http, canary = flow.http, flow.canary
    body = canary("token").ljust(34).encode() + token_bytes(32)
    tampered = "at_" + base64.urlsafe_b64encode(body).decode()
    flow.secrets.add(tampered)
    basic = base64.b64encode(f"{web.client_id}:{canary('basic')}".encode()).decode()
    flow.secrets.add(basic)
    for header in (f"Bearer {tampered}", f"Bearer {canary('bearer')}", canary("raw"),
                   f"Basic {basic}", f"Digest {canary('digest')}"):  # fmt: skip
        headers = {"Authorization": header}
        assert http.get("/v1/user", headers=headers).status_code == 401
        form = {"grant_type": "client_credentials"}
        assert http.post("/v1/oauth/token", data=form, headers=headers).status_code == 401
    for path in ("/v1/user", "/v1/oauth/token", "/v1/clients/web/login", "/v1/nowhere", "/no"):
        for query in ("access_token", "password", "client_secret", "token", "signature"):
            http.post(f"{path}?{query}={canary('query')}", data={"x": canary("form")})
            http.get(f"{path}?{query}={canary('query')}")
    fields = ("username", "password", "refresh_token", "client_secret", "scope", "grant_type", "x")
    for field in fields:
        for value in (canary(field), f"{canary(field)}\0", canary(field) * 300):
            http.post("/v1/oauth/token", data=web.form(**{"grant_type": "password", field: value}))
            http.post("/v1/clients/web/refresh", json={field: value})
            http.post("/v1/register", json={"email": "x@example.com", field: value})
    http.post("/v1/register", content=f'{{"password": "{canary("broken")}"'.encode())
    cookie = {"Cookie": f"refreshToken={canary('cookie')}; session={canary('session')}"}
    http.post("/v1/clients/web/refresh", headers=cookie)
    http.get("/v1/user", headers={"X-Request-Id": canary("id"), "Referer": f"/?x={canary('ref')}"})


def spellings(secret):
    """How a secret may be written down."""
    raw = secret.encode()
    found = {raw, quote(secret).encode(), quote_plus(secret).encode(), base64.b64encode(raw)}
    found.add(json.dumps(secret).strip('"').encode())
    found.add(raw.hex().encode())
    prefix, _, rest = secret.partition("_")
    if prefix in ("at", "rt", "pat") and len(rest) == 88:
        token = base64.urlsafe_b64decode(rest)
        found |= {rest.encode(), token, token[-32:], token[-32:].hex().encode()}
    return found


def files(site, log):
    """Everything that was written: the database with its WAL and logs, and our own log."""
    url = site.database.transactional.url
    yield log
    if url.get_backend_name() == "sqlite":
        yield from Path(url.database).parent.glob("*.sqlite*")
    else:
        root = Path(databases.postgres_server().pgdata)
        with site.database.autocommit.connect() as connection:
            oid = connection.scalar(
                text("SELECT oid FROM pg_database WHERE datname = current_database()")
            )
            connection.execute(text("CHECKPOINT"))
        for folder in (root / "base" / str(oid), root / "pg_wal", root / "log"):
            yield from (path for path in folder.rglob("*") if path.is_file())
        yield from (path for path in root.glob("*log*") if path.is_file())


def all_rows(site):
    """A dump of every row, as text."""
    with site.database.autocommit.connect() as connection:
        for table in Base.metadata.sorted_tables:
            for row in connection.execute(table.select()):
                yield repr(tuple(row)).encode()


@pytest.mark.control("T02")
@pytest.mark.control("K02")
@pytest.mark.control("G02")
def test_no_secret_is_found_in_database_wal_or_log(backend, tmp_path):
    url = databases.migrated(databases.new_url(backend, tmp_path, f"leaks_{tmp_path.name}"))
    site = Site(url, **WEB)
    ini = write_ini(tmp_path, url, password_pepper=PEPPER, **WEB)
    with serving(ini, workers=2) as http:
        flow = Flow(http, site)
        walk(flow)
        texts = {str(path): path.read_bytes() for path in files(site, http.log) if path.exists()}
    texts["after the end"] = http.log.read_bytes()
    texts["rows"] = b"\n".join(all_rows(site))
    site.database.dispose()
    # The search finds what is there.
    assert b"bo@example.com" in texts["rows"]
    assert any(b"bo@example.com" in texts[name] for name in texts if name != "rows")
    assert len(flow.secrets) > 100
    hits = [
        (secret, name)
        for secret in flow.secrets
        for spelling in spellings(secret)
        for name, content in texts.items()
        if spelling in content
    ]
    assert hits == []


@pytest.mark.control("K02")
def test_no_command_shows_a_secret_that_it_did_not_make(tmp_path):
    home = Home(tmp_path)
    home.run("init")
    made = home.json("client", "create", "--name", "Shop", "--type", "personal")
    home.run("user", "create", "--email", "bo@example.com", "--password-stdin", stdin=RIGHT)
    secrets = {made["client_secret"], RIGHT, PEPPER, *home.variables().values()}
    secrets.discard(home.variables()["CLIENT_WEB_ID"])
    shown = "".join(
        done.stdout + done.stderr
        for arguments in (
            ["init"],
            ["doctor"],
            ["doctor", "--json"],
            ["client", "list", "--json"],
            ["user", "list", "--json"],
            ["db", "upgrade"],
            ["purge"],
            ["client", "disable", made["client_id"]],
        )
        for done in [home.run(*arguments, AUTHSITE_PASSWORD_PEPPER=PEPPER)]
    )
    assert [secret for secret in secrets if secret in shown] == []
    assert made["client_id"] in shown
