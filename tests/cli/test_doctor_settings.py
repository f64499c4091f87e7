"""What ``authsite doctor`` says about settings, files and imported clients."""

import pytest
from sqlalchemy import select, update

from authsite.oauth.models import Client
from authsite.platform.settings import environment, folder_of, load, read_ini, unsafe_choices
from authsite.platform.settings.unsafe_choices import RULES
from tests.settings.test_rules import BROKEN, FIT
from tests.support.doctor import line
from tests.support.foreign_systems import php_hash
from tests.support.site import SECRET, WEB, Site


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
