"""Behind a real nginx that ends TLS under another name and port."""

from contextlib import ExitStack
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.conftest import need
from tests.support import databases, nginx
from tests.support.mails import html_of, link_in, read_folder, send_all, text_of, values_in
from tests.support.servers import free_port, serving, write_ini
from tests.support.site import PASSWORD, Site

EVIL = "evil.example"
SPOOFED = {
    "Host": EVIL,
    "X-Forwarded-Host": EVIL,
    "X-Forwarded-Proto": "gopher",
    "X-Forwarded-Port": "666",
    "X-Forwarded-For": "203.0.113.66",
    "Forwarded": f'for=203.0.113.66;host={EVIL};proto="gopher"',
}
TRUSTED = {"trusted_proxies": nginx.ADDRESS}

pytestmark = pytest.mark.slow


class Stand:
    """nginx (``outside``), the server behind it (``inside``), and what is mailed."""

    def __init__(self, outside, inside, site):
        self.outside, self.inside, self._site = outside, inside, site
        self.base_url = outside.base_url

    def register(self, number=0, **more):
        """Register a user whose mailed link leads to our own page, as people know it."""
        return self.outside.post("/v1/register", json=body(self.base_url, number), **more)

    def mail(self):
        """The one mail that waits."""
        send_all(self._site.app.registry)
        [mail] = read_folder(self._site.cfg.mail_folder)
        return mail


@pytest.fixture
def stand(fresh_url, tmp_path):
    """A factory: ``stand(named=True)`` has ``base-url`` set."""
    need(nginx.available(), "nginx")
    with ExitStack() as stack:

        def standing(*, named, **settings):
            site = Site(databases.migrated(fresh_url))  # it sends what the server leaves waiting
            stack.callback(site.database.dispose)
            port = free_port()
            if named:
                settings["base_url"] = nginx.base_url(port)
            ini = write_ini(tmp_path, fresh_url, mail_sender="none", **settings)
            inside = stack.enter_context(serving(ini))
            backend = inside.base_url.port
            outside = stack.enter_context(nginx.in_front_of(backend, port, tmp_path))
            return Stand(outside, inside, site)

        yield standing


def body(base_url, number=0):
    return {
        "email": f"ann{number}@example.com",
        "password": PASSWORD,
        "verification_url": f"{base_url}/email/verify",
    }


@pytest.mark.parametrize(
    ("named", "settings"),
    [(False, TRUSTED), (True, {}), (True, TRUSTED)],
    ids=["trusted-proxies", "base-url", "both"],
)
def test_the_mailed_link_works_from_outside(stand, named, settings):
    here = stand(named=named, **settings)
    assert here.register().status_code == 201
    mail = here.mail()
    assert link_in(mail).startswith(f"{here.base_url}/email/verify/")
    page = here.outside.get(link_in(mail))
    signed = values_in(page.text)["url"]
    assert signed.startswith(f"{here.base_url}/v1/email/verify/")
    assert page.status_code == 200
    assert "<button" in page.text
    assert here.outside.get(signed).status_code == 200
    assert here.outside.get(signed[:-1] + "x").status_code == 403


def test_without_either_the_page_that_people_know_is_not_taken_for_ours(stand):
    here = stand(named=False)
    assert here.register().status_code == 422


@pytest.mark.control("F02")
@pytest.mark.parametrize(
    ("named", "settings"),
    [(False, TRUSTED), (True, {}), (True, TRUSTED)],
    ids=["trusted-proxies", "base-url", "both"],
)
def test_spoofed_headers_never_reach_a_mail(stand, named, settings):
    here = stand(named=named, **settings)
    for number, (name, value) in enumerate(SPOOFED.items()):
        assert here.register(number, headers={name: value}).status_code == 201, name
        own(here, here.mail())
    assert here.register(90, headers=SPOOFED).status_code == 201
    own(here, here.mail())
    page = f"{here.base_url}/password/reset"
    asked = {"email": "ann0@example.com", "reset_url": page}
    assert here.outside.post("/v1/password/forgot", json=asked, headers=SPOOFED).is_success
    mail = here.mail()
    own(here, mail)
    assert link_in(mail).startswith(f"{page}/")


@pytest.mark.control("F02")
@pytest.mark.parametrize(
    ("named", "settings"),
    [(False, TRUSTED), (True, {}), (True, TRUSTED)],
    ids=["trusted-proxies", "base-url", "both"],
)
def test_redirects_and_cookies_stay_on_the_address_that_people_use(stand, named, settings):
    """H6, trial 1: the server sees http, people use https."""
    here = stand(named=named, **settings)
    for headers in ({}, SPOOFED if named else {"X-Forwarded-Proto": "http"}):
        answer = here.outside.get("/account", headers={"Accept": "text/html", **headers})
        assert answer.headers["Location"] == f"{here.base_url}/login?next=/account"
    page = here.outside.get(answer.headers["Location"])
    assert "__Host-authsite-csrf=" in page.headers["Set-Cookie"]
    assert "secure" in page.headers["Set-Cookie"]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_past_the_proxy_nobody_chooses_the_address_in_a_mail(stand, scheme):
    here = stand(named=False, **TRUSTED)
    spoofed = {**SPOOFED, "X-Forwarded-Proto": scheme} | {"Host": here.inside.base_url.netloc}
    own_page = str(here.inside.base_url).rstrip("/")
    for base_url in (f"{scheme}://{EVIL}", here.base_url):
        answer = here.inside.post("/v1/register", json=body(base_url), headers=spoofed)
        assert answer.status_code == 422
    answer = here.inside.post("/v1/register", json=body(own_page), headers=spoofed)
    assert answer.status_code == 201
    assert link_in(here.mail()).startswith(f"{own_page}/email/verify/")


@pytest.mark.control("L13")
def test_the_address_that_is_counted_is_the_one_that_the_proxy_saw(stand):
    here = stand(named=True, limits="on", **{"limits.register-address": "3/hour"}, **TRUSTED)
    statuses = [here.register(number, headers=rotated(number)).status_code for number in range(20)]
    assert statuses == [201] * 3 + [429] * 17
    assert here.register(91, source="127.0.0.3").status_code == 201  # another client has its own
    past = [
        here.inside.post(
            "/v1/register", json=body(here.base_url, 30 + number), headers=rotated(number)
        ).status_code
        for number in range(5)
    ]
    assert past == [429] * 5  # the same client without the proxy is still the same client


def rotated(number):
    """Another address in every header that a client may invent."""
    address = f"203.0.113.{number + 1}"
    return {"X-Forwarded-For": f"{address}, {address}", "Forwarded": f"for={address}",
            "X-Real-IP": address}  # fmt: skip


def own(here, mail):
    """Every link of the mail is ours, and nothing that was invented is in it."""
    whole = mail.as_string() + text_of(mail) + html_of(mail) + signed_or_reset(mail)
    for invented in (EVIL, "gopher", ":666", "203.0.113.66"):
        assert invented not in whole
    assert link_in(mail).startswith(f"{here.base_url}/")


def signed_or_reset(mail):
    return " ".join(value for [value] in parse_qs(urlsplit(link_in(mail)).query).values())
