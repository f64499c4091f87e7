"""The data of a benchmark: users, clients and tokens, written directly to a database."""

import json
import os
import subprocess
import sys
from hashlib import sha256
from urllib.parse import urlencode

from sqlalchemy import insert
from sqlalchemy.orm import Session

from authsite.oauth.clients import service as clients
from authsite.oauth.tokens.issue import ClientRef, issue
from authsite.platform.context import Context, make_services
from authsite.platform.http.request_info import RequestInfo
from authsite.platform.settings import load
from authsite.sign_in.gate import without_proof
from authsite.signup.service import register
from authsite.users.account import account_of

from .rivals import TOKENS, engine

SECRET = "bench-Zr8Vt3Kq9Lx2Mw7Ny5Bp4Cd6Fg1Hj0"
PASSWORD = "purple wolf 77 tea"
FAMILIES = 4000
POOL = 200  # refresh tokens in turn; more than there are connections


def ini(folder, url, name="bench", **settings):
    """An ini file for ``authsite serve`` on ``url``, with further ``settings``.

    Rate limits and request lines are off, as they are in what authsite is compared with.
    """
    path = folder / f"{name}.ini"
    path.write_text(
        "[app:main]\nuse = egg:authsite\n"
        f"authsite.secret = {SECRET}\nauthsite.database-url = {url}\nauthsite.limits = off\n"
        "authsite.log-requests = off\n"
        "authsite.expires-in = 60m\nauthsite.refresh-expires-in = 30d\n"
        + "".join(
            f"authsite.{key.replace('_', '-')} = {value}\n" for key, value in settings.items()
        )
    )
    subprocess.run(
        [sys.executable, "-m", "authsite", "db", "upgrade", "--config", str(path)],
        check=True,
        capture_output=True,
        env={**os.environ, "AUTHSITE_ENV_FILE": os.devnull},
    )
    return path


def fill(folder, url, rounds):
    """One user, three clients, and families; the files that wrk reads by name, files of refresh
    tokens for each round, and the client's credentials for a form."""
    cfg = load(
        {"authsite.secret": SECRET, "authsite.database-url": url, "authsite.limits": "off"}, {}
    )
    files = {name: folder / name for name in ("access", "introspection", "password", "credentials")}
    services = make_services(cfg)
    database = services.database
    with Session(database.transactional, expire_on_commit=False) as db, db.begin():
        ctx = Context(services, RequestInfo, lambda: db)
        user = register(ctx, {"email": "ann@example.com"}, PASSWORD)
        app, app_secret = clients.create(ctx, "app", "password")
        machine, machine_secret = clients.create(ctx, "machine", "personal")
        resource, resource_secret = clients.create(ctx, "resource", "resource-server")
        client, done = ClientRef(app.id, 0), without_proof(account_of(user))
    pairs = [issue(ctx, client, done, "") for _ in range(FAMILIES)]
    pools = [[issue(ctx, client, done, "") for _ in range(POOL)] for _ in range(rounds)]
    database.dispose()
    files["access"].write_text("\n".join(pair.access_token for pair in pairs) + "\n")
    asking = "&" + urlencode({"client_id": str(resource.id), "client_secret": resource_secret})
    files["introspection"].write_text(
        "".join(f"token={pair.access_token}{asking}\n" for pair in pairs)
    )
    for number, pool in enumerate(pools):
        path = folder / f"refresh.{number}"
        path.write_text("\n".join(pair.refresh_token for pair in pool) + "\n")
    app_keys = {"client_id": str(app.id), "client_secret": app_secret}
    login = {"grant_type": "password", "username": "ann@example.com", "password": PASSWORD}
    files["password"].write_text(urlencode(login | app_keys) + "\n")
    machine_keys = {"client_id": str(machine.id), "client_secret": machine_secret}
    credentials = urlencode({"grant_type": "client_credentials"} | machine_keys)
    files["credentials"].write_text(credentials + "\n")
    refresh = iter([folder / f"refresh.{number}" for number in range(rounds)])
    return files, refresh, "&" + urlencode(app_keys)


def fill_prototype(folder, url):
    """Tokens of the prototype."""
    made = engine(url)
    TOKENS.metadata.create_all(made)
    tokens = [f"{number:064x}" for number in range(FAMILIES)]
    rows = [
        {"hash": sha256(token.encode()).digest(), "name": json.dumps(token)} for token in tokens
    ]
    with made.connect() as connection:
        connection.execute(insert(TOKENS), rows)
    made.dispose()
    path = folder / "prototype"
    path.write_text("\n".join(tokens) + "\n")
    return path
