"""The whole way over a real server and a real mail server: links are taken out of the mails."""

from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support import databases
from tests.support.mails import link_in, values_in
from tests.support.servers import OWN_ADDRESS, serving, write_ini
from tests.support.site import PASSWORD, WEB, Site
from tests.support.smtp import mail_server

ANN = {"email": "ann@example.com", "password": PASSWORD}
LOGIN = {"username": "ann@example.com", "password": PASSWORD}
NEW = "a purple wolf at tea 77"


@contextmanager
def running(url, folder, **settings):
    """A server, its mail server, and the web client."""
    databases.migrated(url)
    site = Site(url, **WEB)
    site.first_party("web")
    site.database.dispose()
    with mail_server() as post:
        smtp = {"mail_driver": "smtp", "smtp_url": f"smtp://127.0.0.1:{post.port}"}
        with serving(write_ini(folder, url, **WEB, **smtp, **settings), **OWN_ADDRESS) as http:
            yield http, post


def newest(post, count):
    """The ``count``-th mail, once it is there, and where its link leads."""
    mail = post.wait(count, 70)[count - 1]  # past a lease: late is not lost
    assert mail["To"] == "ann@example.com"
    return mail, link_in(mail)


def query_of(link):
    return {name: value for name, [value] in parse_qs(urlsplit(link).query).items()}


def log_in(http, status=200, **fields):
    answer = http.post("/v1/clients/web/login", data={**LOGIN, **fields})
    assert answer.status_code == status, answer.text
    return answer.json()


def me(http, tokens):
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
    return http.get("/v1/user", headers=headers)


def reset_by_mail(http, post, separator, page, count):
    """Forgot, the link of mail number ``count``, and the new password with what it carries."""
    forgot = http.post(f"/v1/password{separator}forgot", json={**ANN, "reset_url": page})
    assert forgot.status_code == 202
    _, link = newest(post, count)
    assert link.startswith(f"{page}/")
    opened = http.get(link)
    assert opened.status_code == 200  # our own page: it opens and uses nothing up
    sent = values_in(opened.text)
    body = {"email": sent["email"], "token": sent["token"], "password": NEW}
    assert http.post(f"/v1/password{separator}reset", json=body).status_code == 200
    notice, _ = newest(post, count + 1)
    assert "password" in notice["Subject"]
    assert http.post(f"/v1/password{separator}reset", json=body).status_code == 422


@pytest.mark.slow
def test_variant_a_from_registration_to_a_new_password(fresh_url, tmp_path):
    with running(fresh_url, tmp_path) as (http, post):
        base = str(http.base_url).rstrip("/")
        page = f"{base}/email/verify"
        registered = http.post("/v1/register", json={**ANN, "verification_url": page})
        assert registered.status_code == 201
        tokens = log_in(http)
        _, link = newest(post, 1)
        assert link.startswith(f"{page}/")
        opened = http.get(link)
        assert opened.status_code == 200
        assert me(http, tokens).json()["confirmed"] is False
        assert http.get(values_in(opened.text)["url"]).status_code == 200
        assert me(http, tokens).json()["confirmed"] is True
        newest(post, 2)  # welcome

        reset_by_mail(http, post, "/", f"{base}/password/reset", 3)
        assert me(http, tokens).status_code == 401
        log_in(http, 400)
        log_in(http, password=NEW)
        assert len(post.taken) == 4


@pytest.mark.slow
def test_variant_b_from_registration_to_a_new_password(fresh_url, tmp_path):
    b = {"variant": "B", "require_email_confirmation": "true"}
    with running(fresh_url, tmp_path, **b) as (http, post):
        base = str(http.base_url).rstrip("/")
        assert http.post("/v1/register", json=ANN).status_code == 201
        newest(post, 1)
        assert log_in(http, 400)["errors"][0]["code"] == "email_not_confirmed"
        again = http.post("/v1/email/verification-notification", json={"email": ANN["email"]})
        assert again.status_code == 202
        _, link = newest(post, 2)
        assert link.startswith(f"{base}/email/verify/")
        assert http.post(values_in(http.get(link).text)["url"]).status_code == 200
        newest(post, 3)  # welcome
        tokens = log_in(http)
        assert me(http, tokens).json()["confirmed"] is True

        reset_by_mail(http, post, "-", f"{base}/password/reset", 4)
        assert me(http, tokens).status_code == 401
        log_in(http, password=NEW)
        assert len(post.taken) == 5
