"""``authsite doctor``: what is wrong now, and what production would need."""

import pytest

from tests.support import databases
from tests.support.home import Home
from tests.support.servers import serving, write_ini

pytestmark = pytest.mark.slow
SECRET = "vB7wQz2LmXk9RtYc4HsNd6JfGp1UaE0T"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder after ``init``."""
    made = Home(tmp_path_factory.mktemp("doctor"))
    made.run("init")
    return made


def findings(home, status=0, **variables):
    """(state, subject) -> message."""
    shown = home.json("doctor", status=status, **variables)
    assert set(shown) == {"findings"}
    for item in shown["findings"]:
        assert set(item) == {"state", "subject", "message"}
    return {(item["state"], item["subject"]): item["message"] for item in shown["findings"]}


def wrong(found):
    return [subject for state, subject in found if state == "wrong"]


def test_on_a_new_development_set_up_nothing_is_wrong_and_production_needs_changes(home):
    found = findings(home)
    assert wrong(found) == []
    changes = {subject for state, subject in found if state == "change"}
    assert changes == {
        "production",
        "base-url",
        "database-url",
        "mail-driver",
        "expires-in",
        "refresh-expires-in",
    }


def test_people_get_the_problems_first_and_the_number_of_what_is_fine(home):
    found = findings(home)
    done = home.run("doctor")
    *lines, fine, last = done.stdout.splitlines()
    assert [each.split()[0] for each in lines] == ["change"] * 6 + ["note"]
    assert lines[-1].startswith("note    openid: applications cannot sign people in here: ")
    assert fine == f"{len(found) - 7} more are fine: --verbose"
    assert last == "0 wrong, 6 to change before production"
    assert "change  base-url: " in done.stdout
    assert "\x1b" not in done.stdout


def test_with_verbose_people_get_a_line_for_each_finding(home):
    *lines, last = home.run("doctor", "--verbose").stdout.splitlines()
    assert [each.split()[0] for each in lines] == sorted(each.split()[0] for each in lines)
    assert len(lines) == len(findings(home))
    assert last == "0 wrong, 6 to change before production"


@pytest.mark.control("K02")
def test_no_secret_is_shown(home):
    pepper = "Zt5MvQ1xNbC8rWy4LkPs7DhFj2GaUe9T"
    url = "postgresql://user:hunter2hunter2@127.0.0.1:1/nowhere"
    for more in ({}, {"AUTHSITE_PASSWORD_PEPPER": pepper}, {"AUTHSITE_DATABASE_URL": url}):
        for json in ([], ["--json"]):
            done = home.run("doctor", *json, status=None, **more)
            for secret in (*home.variables().values(), pepper, "hunter2hunter2"):
                if secret != home.variables()["CLIENT_WEB_ID"]:
                    assert secret not in done.stdout + done.stderr


@pytest.mark.control("K04")
@pytest.mark.parametrize(
    ("variables", "subject", "named"),
    [
        ({"AUTHSITE_BCRYPT_COST": "9"}, "settings", "authsite.bcrypt-cost"),
        ({"AUTHSITE_SECRET": "short"}, "settings", "authsite.secret"),
        ({"AUTHSITE_SECRET_FILE": "/nonexistent/x"}, "settings", "authsite.secret"),
        ({"AUTHSITE_VARIANT": "C", "AUTHSITE_EXPIRES_IN": "-1"}, "settings", "authsite.variant"),
        ({"AUTHSITE_BSE_URL": "https://x.example"}, "AUTHSITE_BSE_URL", "not a setting"),
        ({"CLIENT_WEB_SECRET": SECRET}, "clients.web.id", "client create"),
        ({"CLIENT_WEB_ID": "nobody"}, "clients.web.id", "client create"),
        ({"CLIENT_APP_ID": "x"}, "settings", "authsite.clients.app.secret"),
        (
            {"AUTHSITE_DATABASE_URL": "postgresql://user@127.0.0.1:1/nowhere"},
            "database-url",
            "not usable",
        ),
        ({"AUTHSITE_DATABASE_URL": "mysql://x"}, "settings", "authsite.database-url"),
    ],
)
def test_what_is_broken_is_named(home, variables, subject, named):
    found = findings(home, status=1, **variables)
    assert wrong(found) == [subject]
    assert named in found["wrong", subject]


def test_every_bad_setting_is_named_at_once(home):
    found = findings(
        home, 1, AUTHSITE_VARIANT="C", AUTHSITE_EXPIRES_IN="-1", AUTHSITE_LIMITS_NONSENSE="1"
    )
    message = found["wrong", "settings"]
    for key in ("authsite.variant", "authsite.expires-in"):
        assert key in message


def test_a_database_without_a_schema_is_wrong(home, tmp_path):
    url = f"sqlite:///{tmp_path}/empty.sqlite"
    found = findings(home, 1, AUTHSITE_DATABASE_URL=url)
    assert wrong(found) == ["database-url"]
    assert "authsite db upgrade" in found["wrong", "database-url"]


def test_before_init_the_doctor_says_how_to_begin(tmp_path):
    found = findings(Home(tmp_path), 1)
    assert "authsite init" in found["wrong", "settings"]


@pytest.mark.control("D04")
def test_files_that_others_may_read_are_wrong(tmp_path):
    home = Home(tmp_path)
    home.run("init")
    for path in (home.env_file, home.database):
        path.chmod(0o644)
        found = findings(home, 1)
        [subject] = wrong(found)
        assert subject.endswith(path.name)
        assert "chmod 600" in found["wrong", subject]
        path.chmod(0o600)
    assert wrong(findings(home)) == []


def test_a_proxy_needs_a_client_of_type_password(tmp_path):
    home = Home(tmp_path)
    home.run("init")
    made = home.json("client", "create", "--name", "x", "--type", "personal")
    variables = {"CLIENT_WEB_ID": made["client_id"], "CLIENT_WEB_SECRET": made["client_secret"]}
    found = findings(home, 1, **variables)
    assert "personal" in found["wrong", "clients.web.id"]
    home.run("client", "disable", home.variables()["CLIENT_WEB_ID"])
    assert wrong(findings(home, 1)) == ["clients.web.id"]


@pytest.mark.both_databases
def test_a_production_set_up_is_fit(tmp_path, fresh_url):
    home = Home(tmp_path)
    for_production = {
        "AUTHSITE_PRODUCTION": "true",
        "AUTHSITE_BASE_URL": "https://auth.example.org",
        "AUTHSITE_DATABASE_URL": fresh_url,
        "AUTHSITE_MAIL_DRIVER": "smtp",
        "AUTHSITE_EXPIRES_IN": "60m",
        "AUTHSITE_REFRESH_EXPIRES_IN": "30d",
        "AUTHSITE_SMTP_URL": "smtp://localhost",
        "AUTHSITE_TRUSTED_PROXIES": "127.0.0.1",
    }
    home.run("init", **for_production)
    found = findings(home, **for_production)
    # SQLite is for one machine, and the tests are a superuser of their PostgreSQL.
    assert [subject for state, subject in found if state != "ok"] == ["database-url"]


@pytest.mark.control("K01")
@pytest.mark.parametrize("secret", ["", "hunter2", "changeme" * 5, "a" * 40, SECRET[:31]])
def test_the_server_does_not_start_with_a_secret_that_anybody_could_guess(home, secret):
    done = home.run("serve", "--port", "1", status=1, AUTHSITE_SECRET=secret)
    assert "authsite.secret" in done.stderr
    assert not secret or secret not in done.stderr


@pytest.mark.control("K04")
def test_the_server_starts_and_warns_of_a_variable_that_means_nothing(tmp_path):
    url = databases.migrated(f"sqlite:///{tmp_path}/x.sqlite")
    with serving(write_ini(tmp_path, url), AUTHSITE_BSE_URL="https://x.example") as http:
        assert http.get("/v1/user").status_code == 401
        assert "AUTHSITE_BSE_URL" in http.log.read_text()
