"""Every line that ``authsite doctor`` can print (M10, trial 11)."""

from uuid import UUID

import pytest
from sqlalchemy import MetaData, Table, delete, text, update

from authsite.checks.findings import LINES
from authsite.oauth.models import Client
from authsite.platform.audit.models import AuditEvent
from authsite.platform.db import migrate, open_database
from authsite.platform.installation.fingerprints import SECRET as KNOWN_SECRET
from authsite.platform.installation.fingerprints import record
from authsite.platform.settings import Secret, new_secret
from tests.cli.doctor_of_database import (
    clock_even,
    clock_off,
    clock_uneven,
    database_not_writable,
)
from tests.cli.doctor_of_openid import (
    openid_included,
    openid_off,
    openid_on,
    openid_set_off,
    signing_key_overdue,
    signing_key_signs,
    signing_key_unusable,
    signing_keys_none,
)
from tests.cli.doctor_of_passkeys import passkeys_foreign, passkeys_off, passkeys_on
from tests.cli.doctor_of_providers import (
    provider_address,
    provider_answers,
    provider_edov,
    provider_redirect,
    provider_unusable,
)
from tests.support import newer
from tests.support.authorizing import application
from tests.support.doctor import NO_WEB, line
from tests.support.sealing import add, change, seal_all
from tests.support.site import SECRET

pytestmark = pytest.mark.both_databases(each_value=True)


def settings_understood(found, _folder):
    assert "some.ini" in line(found(), "settings-understood", "settings")


def settings_wrong(found, _folder):
    message = line(found(AUTHSITE_VARIANT="C"), "settings-wrong", "settings")
    assert "authsite.variant" in message


def variable_unknown(found, _folder):
    line(found(AUTHSITE_BSE_URL="x"), "variable-unknown", "AUTHSITE_BSE_URL")


def file_private(found, folder):
    file = folder / "authsite.env"
    file.symlink_to("/dev/null")
    line(found(), "file-private", str(file))  # `chmod 600 /dev/null` would break the machine
    file.unlink()
    file.touch(0o600)
    line(found(), "file-private", str(file))


def file_exposed(found, folder):
    (folder / "authsite.env").touch(0o640)
    assert "chmod 600" in line(found(), "file-exposed", str(folder / "authsite.env"))


def schema_missing(found, folder):
    findings = found(f"sqlite:///{folder}/empty.sqlite")
    assert "authsite init" in line(findings, "schema-missing", "database-url")


def at_revision(folder, revision):
    """A separate database with the schema of this version, which says that it is at another."""
    database = open_database(f"sqlite:///{folder}/{revision}.sqlite")
    migrate.upgrade(database)
    with database.transactional.begin() as connection:
        table = Table(migrate.VERSION_TABLE, MetaData(), autoload_with=connection)
        connection.execute(table.update().values(version_num=revision))
    database.dispose()
    return f"sqlite:///{folder}/{revision}.sqlite"


def schema_behind(found, folder):
    head = migrate.head()
    with newer.known(folder):
        findings = found()
    assert f"at {head}" in line(findings, "schema-behind", "database-url")


def schema_newer(found, folder):
    findings = found(at_revision(folder, newer.REVISION))
    assert f"at {newer.REVISION}, newer" in line(findings, "schema-newer", "database-url")


def schema_unreleased(found, folder):
    findings = found(at_revision(folder, "0033"))
    message = line(findings, "schema-unreleased", "database-url")
    assert "the schema 0033, of a version of authsite before the first release" in message
    assert "authsite import authsite" in message


def upgrade_unfinished(found, folder):
    path = f"sqlite:///{folder}/unfinished.sqlite"
    database = open_database(path)
    migrate.upgrade(database)
    with newer.known(folder):
        migrate.upgrade(database)
    database.dispose()
    message = line(found(path), "upgrade-unfinished", "database-url")
    assert "authsite db upgrade --finish" in message
    assert not [each for each in found() if "--finish" in each.message]


def features_unknown(found, folder):
    path = at_revision(folder, migrate.head())
    database = open_database(path)
    with database.transactional.begin() as connection:
        connection.execute(text("INSERT INTO used_features (name) VALUES ('of-the-future')"))
    database.dispose()
    assert "of-the-future" in line(found(path), "features-unknown", "database-url")


def schema_current(found, _folder):
    line(found(), "schema-current", "database-url")


def database_unusable(found, _folder):
    findings = found("postgresql://user@127.0.0.1:1/nowhere")
    assert len(line(findings, "database-unusable", "database-url")) > 20


def database_superuser(found, _folder):
    findings = found()
    if any("PostgreSQL serves many" in each.message for each in findings):
        assert not [each for each in findings if "superuser" in each.message]
    else:  # the one of the tests is
        assert "docs/hardening.md" in line(findings, "database-superuser", "database-url")


def database_untimed(found, _folder):
    if found.site.url.startswith("sqlite"):
        assert not [each for each in found() if "no time limit" in each.message]
        return
    untimed = f"{found.site.url}&options=-cstatement_timeout%3D0"
    line(found(untimed), "database-untimed", "database-url")


def audit_changed(found, _folder):
    site = found.site
    deleted, _ = add(site, 2, days=400)
    add(site, 1)
    seal_all(site)
    assert not [each for each in found() if "are not deleted" in each.message]
    change(site, delete(AuditEvent).where(AuditEvent.id == deleted))
    assert "1 of" in line(found(), "audit-changed", "audit trail")


def audit_late(found, _folder):
    site = found.site
    add(site, 1)
    seal_all(site)
    assert not [each for each in found() if each.subject == "audit trail"]
    add(site, 1, days=2)
    seal_all(site)
    assert "seal 2 was made" in line(found(), "audit-late", "audit trail")
    add(site, 1, days=2)
    seal_all(site)
    assert "seal 2 (and 1 more) was made" in line(found(), "audit-late", "audit trail")


def application_wrong(found, _folder):
    findings = found(AUTHSITE_LOGIN_PAGE_URL="signin")
    assert "login-page-url" in line(findings, "application-wrong", "application")


def secret_other(found, _folder):
    with found.site.database.autocommit.connect() as connection:
        record(connection, KNOWN_SECRET, Secret(new_secret()))
    assert "secret accept" in line(found(), "secret-other", "secret")
    with found.site.database.autocommit.connect() as connection:
        record(connection, KNOWN_SECRET, found.site.cfg.secret[0])
    assert not [each for each in found() if each.message == KNOWN_SECRET.other]


def audit_key_lost(found, _folder):
    line(found(AUTHSITE_SECRET=f"{new_secret()} {SECRET}"), "audit-key-lost", "audit-key")


def client_none(found, _folder):
    line(found(**NO_WEB), "client-none", "clients.web.id")


def client_unknown(found, _folder):
    line(found(CLIENT_WEB_ID="nobody"), "client-unknown", "clients.web.id")


def client_good(found, _folder):
    line(found(), "client-good", "clients.web.id")


def client_type(found, _folder):
    personal = found.site.client("personal")
    findings = found(CLIENT_WEB_ID=personal.client_id, CLIENT_WEB_SECRET=personal.client_secret)
    assert "personal" in line(findings, "client-type", "clients.web.id")


def client_admin_scope(found, _folder):
    found.site.client(scope="a superadmin:x")
    keys = found.site.client(scope="a b", name="Shop")
    former = {"scope": "a admin:reports b", "default_scope": "a admin:reports"}
    with found.site.db() as db:
        db.execute(update(Client).where(Client.id == UUID(keys.client_id)).values(**former))
        db.commit()
    message = line(found(), "client-admin-scope", "clients")
    assert f"client Shop ({keys.client_id}) has scopes of administrators: admin:reports." in message
    assert f"client update {keys.client_id} --scope 'a b' --default-scope a`" in message


def client_cleartext(found, _folder):
    kept = application(found.site, name="Wiki", redirect_uris=["http://wiki.lan:3000/cb"])
    application(found.site, redirect_uris=["http://localhost:3000/cb", "https://app.example/cb"])
    hosts = {"AUTHSITE_HTTP_REDIRECT_HOSTS": "wiki.lan"}
    assert "no longer has wiki.lan" in line(found(), "client-cleartext", "clients")
    message = line(found(**hosts), "client-cleartext", "clients")
    assert f"the client Wiki ({kept.client_id}) over http, at http://wiki.lan:3000/cb:" in message
    assert "no longer" not in message


def only_corp(site):
    """Settings with which one of three users is confirmed and of the domain."""
    for number, confirmed in ((1, True), (2, False)):
        site.user(f"u{number}@corp.example", confirmed=confirmed)
    site.user("u3@sub.corp.example", confirmed=True)
    site.user("u4@xcorp.example", confirmed=False)
    return {"AUTHSITE_REGISTRATION": "domains", "AUTHSITE_REGISTRATION_DOMAINS": "corp.example"}


def registration_unconfirmed(found, _folder):
    message = line(found(**only_corp(found.site)), "registration-unconfirmed", "registration")
    assert "address: 2." in message


def registration_other_domains(found, _folder):
    variables = only_corp(found.site)
    message = line(found(**variables), "registration-other-domains", "registration")
    assert "domain: 2." in message
    variables = {"AUTHSITE_REGISTRATION": "on"}
    assert not [each for each in found(**variables) if each.subject == "registration"]


def scope_older_tokens(found, _folder):
    found.site.user()
    keys = found.site.client(scope="pay")
    found.site.login(keys, scope="pay")
    found.site.login(keys)
    message = line(found(AUTHSITE_SCOPES="pay [groups]: Pay"), "scope-older-tokens", "scopes")
    assert "of them: 1." in message


def key_fine(found, _folder):
    line(found(AUTHSITE_TRUSTED_PROXIES="127.0.0.1"), "key-fine", "trusted-proxies")


MAKES = {
    make.__name__.replace("_", "-"): make
    for make in (
        settings_understood,
        settings_wrong,
        application_wrong,
        secret_other,
        audit_late,
        variable_unknown,
        file_private,
        file_exposed,
        schema_missing,
        schema_behind,
        schema_newer,
        schema_unreleased,
        upgrade_unfinished,
        features_unknown,
        schema_current,
        database_unusable,
        database_superuser,
        database_untimed,
        database_not_writable,
        clock_even,
        clock_uneven,
        clock_off,
        audit_changed,
        audit_key_lost,
        client_none,
        client_unknown,
        client_good,
        client_type,
        client_admin_scope,
        client_cleartext,
        registration_unconfirmed,
        registration_other_domains,
        scope_older_tokens,
        provider_redirect,
        provider_address,
        provider_answers,
        provider_edov,
        provider_unusable,
        openid_on,
        openid_off,
        openid_set_off,
        openid_included,
        passkeys_off,
        passkeys_on,
        passkeys_foreign,
        signing_keys_none,
        signing_key_signs,
        signing_key_overdue,
        signing_key_unusable,
        key_fine,
    )
}


def test_every_line_has_a_set_up_that_makes_it():
    assert set(MAKES) == set(LINES)


@pytest.mark.parametrize("name", LINES)
def test_m10_a_line_of_the_doctor(found, folder, name):
    MAKES[name](found, folder)
