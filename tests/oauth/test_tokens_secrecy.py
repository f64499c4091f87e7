"""A dump of the database, its write-ahead log and our own logs hold no secret that works."""

import logging
import uuid
from base64 import b64encode, urlsafe_b64decode
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from authsite.oauth.clients import service as clients
from authsite.oauth.models import Client
from authsite.oauth.tokens.format import ACCESS, REFRESH
from authsite.platform.runtime import clock
from authsite.users import service as users
from tests.support import databases
from tests.support.acting import acting
from tests.support.codec import TokenCodec
from tests.support.site import PASSWORD, SECRET, WEB, Site, bearer
from tests.support.statements import fail_all

NEW_PASSWORD = "purple wolf 77 tea"
TYPED_WRONG = "a password of another site 91"
PEPPER = "pepper-7Qm2XvWk9TzLrB4nYsHd8JcFgP6aEo1u"


def walk(site):
    """Every flow that hands out or takes a secret; the secrets."""
    web = site.first_party("web")
    machine = site.client("personal", scope="a b", default_scope="a b")
    secrets = {SECRET, PEPPER, PASSWORD, NEW_PASSWORD, TYPED_WRONG}
    secrets |= {web.client_secret, machine.client_secret}

    def keep(answer):
        secrets.update(answer[name] for name in ("access_token", "refresh_token"))
        return answer

    form = {"email": "ann@example.com", "password": PASSWORD}
    site.http.post_json("/v1/register", form, status=201)
    site.http.post_json("/v1/register", form, status=422)
    site.http.post_json("/v1/register", form | {"email": "x", "password": TYPED_WRONG}, status=422)
    login = {"username": "ann@example.com", "password": PASSWORD}
    first = keep(site.token(web, grant_type="password", **login).json)
    second = keep(site.refresh(web, first["refresh_token"]))
    third = keep(site.refresh(web, second["refresh_token"]))
    site.me(third["access_token"])
    site.refresh(web, first["refresh_token"], status=400)  # reuse: an audit event
    site.me(third["access_token"], status=401)
    keep(site.http.post("/v1/clients/web/login", login).json)
    keep(site.http.post("/v1/clients/web/users/login", login).json)
    proxied = keep(site.http.post_json("/v1/clients/web/refresh", {}).json)
    named = {"refresh_token": proxied["refresh_token"]}
    proxied = keep(site.http.post("/v1/clients/web/refresh", named).json)
    site.logout(proxied["access_token"])
    own = keep(site.token(machine, grant_type="client_credentials").json)
    narrow = keep(site.refresh(machine, own["refresh_token"], scope="a"))
    site.http.get(f"/v1/user?access_token={narrow['access_token']}", status=401)
    site.http.get(f"/v1/{narrow['access_token']}", status=404)
    site.http.post(
        f"/v1/oauth/token?client_secret={machine.client_secret}&password={TYPED_WRONG}",
        {"grant_type": "password"},
        status=400,
    )
    site.login(web, password=TYPED_WRONG, status=400)
    site.login(web, TYPED_WRONG, TYPED_WRONG, status=400)
    site.token(web, 401, grant_type="client_credentials", client_secret=TYPED_WRONG)
    basic = b64encode(f"{machine.client_id}:{machine.client_secret}".encode()).decode()
    secrets.add(basic)
    form = {"grant_type": "client_credentials"}
    headers = {"Authorization": f"Basic {basic}"}
    keep(site.http.post("/v1/oauth/token", form, headers=headers).json)
    with site.db() as db:
        row = db.get(Client, uuid.UUID(machine.client_id))
        secrets.add(clients.rotate_secret(acting(db), row))
    ann = site.families()[0].user_id
    stored = site.app.registry["authsite"].passwords.hash(NEW_PASSWORD)
    with site.db() as db:
        users.set_password(acting(db), ann, stored)
    keep(site.login(web, password=NEW_PASSWORD))
    site.http.get("/v1/user", headers=bearer(TYPED_WRONG), status=401)
    return secrets


def broken_walk(site, secrets, monkeypatch):
    """The same doors while the house has a bug, and while the database is away."""

    def broken(*_):
        raise RuntimeError("a bug")

    login = {"grant_type": "password", "username": "ann@example.com", "password": NEW_PASSWORD}
    token = next(each for each in secrets if each.startswith("at_"))
    web = site.cfg.clients["web"]
    form = {"client_id": web.id, "client_secret": web.secret.reveal()} | login
    with monkeypatch.context() as patch:
        patch.setattr(clock, "now", broken)
        site.http.post("/v1/oauth/token", form, status=500)
        site.http.get("/v1/user", headers=bearer(token), status=500)
    with monkeypatch.context() as patch:
        fail_all(patch, site.database)
        site.http.post("/v1/oauth/token", form, status=503)
        site.http.get("/v1/user", headers=bearer(token), status=503)


def forms(secret):
    """The ways in which a secret could lie about: as text, and for a token as its raw MAC."""
    yield secret.encode()
    yield secret.encode().hex().encode()
    yield b64encode(secret.encode()).rstrip(b"=")[:-1]
    if secret.startswith(("at_", "rt_")):
        mac = urlsafe_b64decode(secret[3:])[-32:]
        yield from (secret[3:].encode(), mac, mac.hex().encode())


def stored_bytes(site):
    """Everything that the database has on disk, write-ahead log included."""
    url = make_url(site.url)
    if url.get_backend_name() == "sqlite":
        path = Path(url.database)
        names = [path, *path.parent.glob(f"{path.name}-*")]
        assert any(name.name.endswith("-wal") for name in names)
        return b"".join(name.read_bytes() for name in names)
    with site.database.autocommit.connect() as connection:
        connection.execute(text("SET statement_timeout = 0"))  # a checkpoint takes its time
        connection.execute(text("CHECKPOINT"))
        base = connection.scalar(text("SELECT pg_relation_filepath('families')"))
        folder = Path(connection.scalar(text("SHOW data_directory")))
    files = [path for path in (folder / base).parent.iterdir() if path.is_file()]
    files += [path for path in (folder / "pg_wal").iterdir() if path.is_file()]
    return b"".join(path.read_bytes() for path in files)


@pytest.fixture
def own_site(fresh_url):
    site = Site(databases.migrated(fresh_url), refresh_grace="0s", password_pepper=PEPPER, **WEB)
    yield site
    site.database.dispose()


@pytest.mark.control("T02")
def test_no_secret_that_was_handed_out_is_in_the_database_its_log_or_our_logs(
    own_site, caplog, capfd, monkeypatch
):
    with caplog.at_level(logging.DEBUG):
        secrets = walk(own_site)
        broken_walk(own_site, secrets, monkeypatch)
    assert len(secrets) >= 25
    stored = stored_bytes(own_site)
    assert b"ann@example.com" in stored  # we are looking in the right place
    out, err = capfd.readouterr()
    logged = "\n".join((caplog.text, out, err)).encode()
    assert b"internal_error" in logged
    assert b"storage_failed" in logged
    for secret in secrets:
        for form in forms(secret):
            assert form not in stored, f"{secret} is in the database"
            assert form not in logged, f"{secret} is in the logs"


@pytest.mark.control("T02")
def test_a_dump_with_another_key_yields_no_token_that_works(own_site):
    """A person who has the rows but not the secret can rebuild nothing."""
    keys = own_site.client("personal")
    own_site.token(keys, grant_type="client_credentials")
    [family] = own_site.families()
    thief = TokenCodec([str(family.id), "x" * 43])
    expires = int(family.refresh_expires_at.timestamp())
    own_site.me(thief.encode(ACCESS, family.id, family.generation, expires), status=401)
    token = thief.encode(REFRESH, family.id, family.generation, expires)
    own_site.refresh(keys, token, status=400)


@pytest.mark.control("T02")
def test_a_dumped_hash_of_a_client_secret_is_no_secret(own_site):
    keys = own_site.client("personal")
    with own_site.db() as db:
        stored = db.get(Client, uuid.UUID(keys.client_id)).secret_hash
    form = {"client_id": keys.client_id, "client_secret": stored}
    own_site.http.post("/v1/oauth/token", form | {"grant_type": "client_credentials"}, status=401)


@pytest.mark.control("T02")
@pytest.mark.parametrize("engine", ["autocommit", "transactional"])
def test_the_text_of_a_database_error_holds_no_parameters(site, engine):
    statement = text("SELECT * FROM no_such_table WHERE a = :a")
    connecting = getattr(site.database, engine).connect()
    with connecting as connection, pytest.raises(DBAPIError) as caught:
        connection.execute(statement, {"a": TYPED_WRONG})
    assert TYPED_WRONG not in str(caught.value)
