"""The roles of the documentation: the service can do its work, and not change its audit trail."""

import re
import uuid
from types import SimpleNamespace

import psycopg
import pytest
from sqlalchemy.exc import ProgrammingError

from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.seals.stored import SEALS
from authsite.platform.db import open_database
from authsite.platform.db.base import Base
from authsite.platform.db.migrate import current, head, upgrade
from authsite.platform.db.privileges import is_superuser
from authsite.platform.runtime import clock
from authsite.platform.tasks.cleanup import steps
from tests.support import databases
from tests.support.home import CHECKOUT
from tests.support.sealing import problems, seal_all
from tests.support.site import PASSWORD, WEB, Site


def documented():
    """The SQL blocks that make the owner, and the role of the service."""
    text = "".join(
        (CHECKOUT / f"docs/{page}.md").read_text(encoding="utf-8")
        for page in ("production", "hardening")
    )
    blocks = re.findall(r"^```sql\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    [owner] = [block for block in blocks if "CREATE DATABASE" in block]
    [service] = [block for block in blocks if "GRANT" in block]
    return owner, service


def statements(block):
    return [part for part in re.sub(r"--.*", "", block).split(";") if part.strip()]


@pytest.fixture(scope="module")
def roles():
    """URLs of a database for the roles ``owner`` and ``service``, made by the documented words."""
    name = f"own_{uuid.uuid4().hex}"
    made = SimpleNamespace(owner=name, service=f"{name}_service")
    server = databases.postgres_server().get_uri()

    def execute(block, url):
        words = re.sub(r"\bauthsite(?=_service\b|\b)", name, block)
        with psycopg.connect(url, autocommit=True) as connection:
            for statement in statements(words):
                connection.execute(statement)

    def url_of(role):
        as_role = server.replace("//postgres:@", f"//{role}:x@")
        assert as_role != server
        return as_role.replace("/postgres?", f"/{name}?")

    owner, service = documented()
    execute(owner, server)
    made.urls = SimpleNamespace(owner=url_of(made.owner), service=url_of(made.service))
    databases.migrated(made.urls.owner)
    execute(service, server.replace("/postgres?", f"/{name}?"))
    return made.urls


@pytest.fixture
def site(roles):
    """The application as the role of the service."""
    made = Site(roles.service, limits="on", audit_keep="forever", **WEB)
    yield made
    made.database.dispose()


def test_s6_the_service_works_with_the_rights_of_its_role(site):
    assert not is_superuser(site.database.autocommit)
    site.first_party("web")
    registered = {"email": "ann@example.com", "password": PASSWORD}
    site.http.post_json("/v1/register", registered, status=201)
    login = {"username": "ann@example.com", "password": PASSWORD}
    tokens = site.http.post_json("/v1/clients/web/login", login, status=200).json
    site.http.post_json("/v1/clients/web/login", login | {"password": "wrong"}, status=400)
    answer = site.http.post_json(
        "/v1/clients/web/refresh", {"refresh_token": tokens["refresh_token"]}, status=200
    )
    bearer = {"Authorization": f"Bearer {answer.json['access_token']}"}
    forgot = {"email": "ann@example.com", "reset_url": "http://localhost/password/reset"}
    site.http.post_json("/v1/password/forgot", forgot, status=202)
    site.http.delete("/v1/logout", headers=bearer, status=200)
    site.http.get("/v1/user", headers=bearer, status=401)
    with site.database.autocommit.connect() as connection:
        for _step in steps(connection, site.app.registry["authsite"]):
            pass  # a step that the database refuses raises
    assert sum(seal.rows for seal in seal_all(site)) >= 5
    assert problems(site) == []


def test_s6_the_service_cannot_change_the_audit_trail_or_the_tables(site):
    table = AuditEvent.__table__
    for statement in (
        table.delete(),
        table.update().values(event="x"),
        table.insert().values(id=2**63 - 1, at=clock.now(), event="x"),
        SEALS.delete(),
        SEALS.update().values(mac="x"),
    ):
        with (
            site.database.transactional.begin() as c,
            pytest.raises(ProgrammingError, match="denied"),
        ):
            c.execute(statement)
    for text in ("TRUNCATE audit_events", "DROP TABLE audit_events", "CREATE TABLE x (y int)"):
        with (
            site.database.transactional.begin() as c,
            pytest.raises(ProgrammingError, match=r"denied|own"),
        ):
            c.exec_driver_sql(text)


def test_s6_every_other_table_is_one_that_the_service_may_write(site):
    rights = "SELECT has_table_privilege(%s, 'SELECT'), has_table_privilege(%s, %s)"
    with site.database.autocommit.connect() as connection:
        for name in Base.metadata.tables:
            for right in ("INSERT", "UPDATE", "DELETE"):
                [row] = connection.exec_driver_sql(rights, (name, name, right))
                allowed = {"audit_seals": ["INSERT"], "audit_events": []}  # all columns but the id
                assert tuple(row) == (True, right in allowed.get(name, [right])), name


def test_s6_the_owner_upgrades_and_purges_the_audit_trail(roles):
    database = open_database(roles.owner)
    assert not is_superuser(database.autocommit)
    upgrade(database)
    assert current(database) == head()
    with database.transactional.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE later (id serial PRIMARY KEY, x int)")
        connection.execute(AuditEvent.__table__.delete())
    database.dispose()
    service = open_database(roles.service)
    with service.transactional.begin() as connection:
        connection.exec_driver_sql("INSERT INTO later (x) VALUES (1)")
    service.dispose()
