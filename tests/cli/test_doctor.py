"""Every line that ``authsite doctor`` can print (M10, trial 11)."""

import os
from datetime import timedelta

import pytest
from sqlalchemy import MetaData, Table, delete, select, update

from authsite import clock
from authsite.audit.models import AuditEvent
from authsite.cli.doctor import LINES, examine
from authsite.db import migrate, open_database
from authsite.installation.secret import OTHER_SECRET, record
from authsite.oauth.models import Client
from authsite.settings import (
    Secret,
    environment,
    folder_of,
    load,
    new_secret,
    read_ini,
    unsafe_choices,
)
from authsite.settings.unsafe_choices import RULES
from tests.settings.test_rules import BROKEN, FIT
from tests.support.foreign_systems import php_hash
from tests.support.home import OURS
from tests.support.sealing import add, change, seal_all
from tests.support.site import SECRET, WEB, Site


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder, and a process without variables of authsite."""
    for name in list(os.environ):
        if name.startswith(OURS):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def found(folder, monkeypatch, site_with):
    """The findings for a set-up with these variables, on a database with the client ``web``."""
    site = site_with(**WEB)
    site.first_party("web")

    def examined(url=site.url, ini="authsite.bcrypt-cost = 12", **variables):
        (folder / "some.ini").write_text(f"[app:main]\nuse = egg:authsite\n{ini}\n")
        given = {"AUTHSITE_SECRET": SECRET, "AUTHSITE_DATABASE_URL": url, **WEB_IS}
        for name, value in {**given, **variables}.items():
            if value is not None:
                monkeypatch.setenv(name, value)
        return list(examine("some.ini"))

    examined.site = site
    return examined


WEB_IS = {"CLIENT_WEB_ID": WEB["clients.web.id"], "CLIENT_WEB_SECRET": WEB["clients.web.secret"]}
NO_WEB = dict.fromkeys(WEB_IS)


def line(findings, name, subject):
    """The message of the finding that the line ``name`` makes about ``subject``."""
    state, words = LINES[name]
    begins, ends = words.split("{")[0], words.split("}")[-1]
    about = [f.message for f in findings if (f.state, f.subject) == (state, subject)]
    [message] = [text for text in about if text.startswith(begins) and text.endswith(ends)]
    assert "{" not in message
    return message


def settings_understood(found, _folder):
    assert "some.ini" in line(found(), "settings-understood", "settings")


def settings_wrong(found, _folder):
    message = line(found(AUTHSITE_VARIANT="C"), "settings-wrong", "settings")
    assert "authsite.variant" in message


def variable_unknown(found, _folder):
    line(found(AUTHSITE_BSE_URL="x"), "variable-unknown", "AUTHSITE_BSE_URL")


def file_private(found, folder):
    (folder / "authsite.env").touch(0o600)
    line(found(), "file-private", str(folder / "authsite.env"))


def file_exposed(found, folder):
    (folder / "authsite.env").touch(0o640)
    assert "chmod 600" in line(found(), "file-exposed", str(folder / "authsite.env"))


def schema_missing(found, folder):
    findings = found(f"sqlite:///{folder}/empty.sqlite")
    assert "authsite init" in line(findings, "schema-missing", "database-url")


def at_revision(folder, revision, version):
    """A database of its own, migrated to ``revision``, which says that it is at ``version``."""
    database = open_database(f"sqlite:///{folder}/{version}.sqlite")
    migrate.upgrade(database, revision)
    with database.transactional.begin() as connection:
        table = Table(migrate.VERSION_TABLE, MetaData(), autoload_with=connection)
        connection.execute(table.update().values(version_num=version))
    database.dispose()
    return f"sqlite:///{folder}/{version}.sqlite"


def schema_behind(found, folder):
    findings = found(at_revision(folder, "0003", "0003"))
    assert "at 0003" in line(findings, "schema-behind", "database-url")


def schema_newer(found, folder):
    findings = found(at_revision(folder, "head", "9999"))
    assert "at 9999, newer" in line(findings, "schema-newer", "database-url")


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
    add(site, 1, days=400)
    add(site, 1)
    seal_all(site)
    assert not [each for each in found() if "are not deleted" in each.message]
    change(site, delete(AuditEvent).where(AuditEvent.at < clock.now() - timedelta(days=300)))
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
        record(connection, Secret(new_secret()))
    assert "secret accept" in line(found(), "secret-other", "secret")
    with found.site.database.autocommit.connect() as connection:
        record(connection, found.site.cfg.secret[0])
    assert not [each for each in found() if each.message == OTHER_SECRET]


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
        schema_current,
        database_unusable,
        database_superuser,
        database_untimed,
        audit_changed,
        audit_key_lost,
        client_none,
        client_unknown,
        client_good,
        client_type,
        registration_unconfirmed,
        registration_other_domains,
        key_fine,
    )
}


def test_every_line_has_a_set_up_that_makes_it():
    assert set(MAKES) == set(LINES)


@pytest.mark.parametrize("name", LINES)
def test_m10_a_line_of_the_doctor(found, folder, name):
    MAKES[name](found, folder)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_m10_trial_11_a_rule_is_one_line_of_the_doctor(found, folder, monkeypatch, rule):
    """Trial 11 for smtp-url-unset and trusted-proxies-unset, H7 for smtp-without-base-url."""
    monkeypatch.setattr(unsafe_choices, "find_spec", lambda _name: None)  # nothing is installed
    url = f"sqlite:///{folder}/empty.sqlite"  # what is in the database is another line
    # Named by production's start instead; what is refused there, the doctor names elsewhere.
    environ = FIT | BROKEN[rule.name] | {"AUTHSITE_PRODUCTION": "false"}
    findings = found(url, **environ | {"AUTHSITE_DATABASE_URL": url})

    cfg = load(read_ini("some.ini"), environment(folder_of({})))
    state = "wrong" if rule.level == "start" else "change"
    expected = rule.broken_by(cfg)
    assert [f.state for f in findings if (f.subject, f.message) == (rule.subject, expected)] == [
        state
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"authsite.secret = {SECRET}",
        "authsite.smtp-url = smtp://u:p@h",
        "authsite.limits-storage = redis://:geheim@h/0",
    ],
)
def test_m10_an_ini_with_a_secret_is_for_its_owner_only(found, folder, text):
    variables = {"AUTHSITE_SECRET": None} if "secret" in text else {}
    subject = str(folder / "some.ini")
    for mode, name in ((0o644, "file-exposed"), (0o600, "file-private")):
        (folder / "some.ini").touch()
        (folder / "some.ini").chmod(mode)
        line(found(ini=text, **variables), name, subject)


def test_m10_an_ini_without_a_secret_may_be_read_by_all(found, folder):
    for url in ("sqlite:///x.sqlite", "postgresql://authsite@h/d", "postgresql://authsite:@h/d"):
        findings = found(ini=f"authsite.database-url = {url}")
        assert str(folder / "some.ini") not in [finding.subject for finding in findings]


def test_m10_the_mail_folder_is_for_its_owner_only(found, folder):
    mails = folder / "mails"
    mails.mkdir(0o755)
    given = {"AUTHSITE_MAIL_DRIVER": "file", "AUTHSITE_MAIL_FOLDER": "mails"}
    assert "chmod 700" in line(found(**given), "file-exposed", str(mails))
    mails.chmod(0o700)
    line(found(**given), "file-private", str(mails))


def test_m10_the_first_connection_warns_of_a_superuser(site, caplog):
    again = Site(site.url)
    caplog.clear()
    with again.db() as db:
        db.connection()
    again.database.dispose()
    texts = [record.getMessage() for record in caplog.records]
    warned = [text for text in texts if text.startswith("authsite.database-url: ")]
    assert len(warned) == site.url.startswith("postgresql")  # where the role of the tests is one


def test_a_wrong_template_and_a_missing_file_are_named(found, folder):
    (folder / "own").mkdir()
    (folder / "own/notes.md").write_text("x")
    findings = found(AUTHSITE_TEMPLATES_FOLDER="own", AUTHSITE_SITE_LOGO="none.svg")
    wrong = {f.subject: f.message for f in findings if f.state == "wrong"}
    assert "notes.md has the name of no template" in wrong["authsite.templates-folder"]
    assert "'none.svg': there is no such file" in wrong["authsite.site-logo"]


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_the_doctor_checks_an_imported_client_and_leaves_its_hash(found):
    hashed = php_hash(WEB["clients.web.secret"])
    with found.site.db() as db:
        db.execute(update(Client).values(secret_hash=hashed))
        db.commit()
    line(found(), "client-good", "clients.web.id")
    with found.site.db() as db:
        assert db.scalars(select(Client.secret_hash)).all() == [hashed]
