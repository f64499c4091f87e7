"""`/dev/mail`: who may see the mails that were sent during development, and what is shown."""

import os
from pathlib import Path

import pytest
from webtest import TestApp

from authsite import compose
from authsite.platform.mail.pages import (
    FOLDER_VARIABLE,
    SHOWN,
    linked,
    may_show,
    prune,
    shared_folder,
)
from authsite.platform.mail.transports.driver import open_transport
from tests.support.folders import new_folder
from tests.support.mails import link_in, read_folder, send_all
from tests.support.site import SECRET

PATH = "/dev/mail"
LOCAL = {"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "localhost:6543"}


@pytest.fixture
def dev(site_with):
    """The application of a worker of ``authsite serve``, with one mail that was sent."""
    site = site_with(mail_driver="file")
    site.user()
    page = "http://localhost/password/reset"
    site.http.post_json("/v1/password/forgot", {"email": "ann@example.com", "reset_url": page})
    send_all(site.app.registry)
    site.served = served(site, Path(site.cfg.mail_folder))
    return site


def served(site, folder):
    """What a worker of ``authsite serve`` composes on the site's database."""
    settings = {
        "authsite.secret": SECRET,
        "authsite.database-url": site.url,
        "authsite.mail-driver": "file",
        "authsite.mail-folder": str(folder),
    }
    app = compose(settings, mail_copies=folder).make_wsgi_app()
    return TestApp(app, extra_environ=LOCAL)


def test_pages_6_the_page_shows_the_mail_and_its_link_can_be_followed(dev):
    page = dev.served.get(PATH, status=200)
    assert page.headers["Cache-Control"] == "no-store"
    [link] = [a["href"] for a in page.html.select("pre a") if "/password/reset" in a["href"]]
    [mail] = read_folder(dev.cfg.mail_folder)
    assert link == link_in(mail)
    assert "ann@example.com" in page.text
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    assert dev.served.head(PATH).status_int == 200


def test_pages_6_the_html_part_runs_no_script_and_is_of_no_origin(dev):
    page = dev.served.get(PATH)
    [path] = [a["href"] for a in page.html.select("article a") if a["href"].startswith(PATH)]
    part = dev.served.get(path, status=200)
    policy = part.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "sandbox" in policy
    assert "allow-scripts" not in policy
    assert "allow-same-origin" not in policy
    assert part.headers["Cache-Control"] == "no-store"
    assert "/password/reset/" in part.text
    for name in ("x", "..%2F..%2Fetc%2Fpasswd", "%2e%2e", "x" * 500):
        dev.served.get(f"{PATH}/{name}", status=404)


@pytest.mark.parametrize(
    "environ",
    [
        {"REMOTE_ADDR": "192.0.2.1"},
        {"REMOTE_ADDR": ""},
        {"REMOTE_ADDR": "::ffff:192.0.2.1"},
        {"HTTP_HOST": "auth.example.org"},
        {"HTTP_HOST": "localhost.example.org"},
        {"HTTP_HOST": "127.0.0.1.example.org"},
        {"HTTP_HOST": "192.0.2.1"},
        {"HTTP_FORWARDED": "for=192.0.2.1"},
        {"HTTP_X_FORWARDED_FOR": "127.0.0.1"},
        {"HTTP_X_FORWARDED_HOST": "localhost"},
        {"HTTP_X_FORWARDED_PROTO": "http"},
        {"HTTP_X_FORWARDED_ANYTHING": ""},
        {"HTTP_VIA": "1.1 proxy"},
        # Tunnels and proxies that add nothing else.
        {"HTTP_CF_CONNECTING_IP": "192.0.2.1"},
        {"HTTP_TRUE_CLIENT_IP": "192.0.2.1"},
        {"HTTP_X_CLIENT_IP": "192.0.2.1"},
        {"HTTP_X_ENVOY_EXTERNAL_ADDRESS": "192.0.2.1"},
        {"HTTP_X_ORIGINAL_URL": "/"},
        {"HTTP_X_REAL_IP": "192.0.2.1"},
    ],
    ids=str,
)
def test_pages_6_for_all_others_there_is_no_such_page(dev, environ):
    nowhere = dev.served.get("/dev/nowhere", extra_environ=environ, status=404)
    [name] = [path.stem for path in Path(dev.cfg.mail_folder).glob("*.eml")]
    for send in (dev.served.get, dev.served.post, dev.served.delete):
        refused = send(PATH, extra_environ=environ, status=404)
        assert refused.content_type == nowhere.content_type
        assert "ann@example.com" not in refused.text
        send(f"{PATH}/{name}", extra_environ=environ, status=404)


@pytest.mark.parametrize(
    "environ",
    [
        {"HTTP_HOST": "127.0.0.1:6543"},
        {"HTTP_HOST": "[::1]:6543", "REMOTE_ADDR": "::1"},
        {"REMOTE_ADDR": "::ffff:127.0.0.1"},
        {"HTTP_HOST": "LOCALHOST"},
    ],
    ids=str,
)
def test_this_machine_has_several_names(dev, environ):
    dev.served.get(PATH, extra_environ=environ, status=200)


def test_without_authsite_serve_there_is_no_such_page(dev, monkeypatch):
    """Under pserve, and in a host application, nothing says where the server listens."""
    monkeypatch.setenv(FOLDER_VARIABLE, dev.cfg.mail_folder)
    dev.http.get(PATH, extra_environ=LOCAL, status=404)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
@pytest.mark.parametrize("driver", ["log", "file"])
def test_authsite_serve_shows_mails_on_loopback(site_with, host, driver):
    assert may_show(site_with(mail_driver=driver).cfg, host)
    assert may_show(site_with(mail_driver=driver, base_url="http://localhost:6543").cfg, host)


@pytest.mark.parametrize(
    ("host", "settings"),
    [
        ("0.0.0.0", {}),  # noqa: S104  nothing listens
        ("::", {}),
        ("192.0.2.1", {}),
        ("auth.example.org", {}),
        ("fe80::1%eth0", {}),
        ("127.0.0.1", {"base_url": "https://auth.example.org"}),
        ("127.0.0.1", {"base_url": "http://localhost:6543 https://auth.example.org"}),
        ("127.0.0.1", {"mail_driver": "smtp", "base_url": "http://localhost"}),
        (
            "127.0.0.1",
            {"production": "true", "base_url": "https://localhost", "mail_driver": "log",
             "mail_log_in_production": "true"},
        ),
    ],
)  # fmt: skip
def test_authsite_serve_shows_no_mails_to_others(site_with, host, settings, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, "/left/over")
    cfg = site_with(**{"mail_driver": "log", **settings}).cfg
    assert not may_show(cfg, host)
    with shared_folder(cfg, host):
        assert FOLDER_VARIABLE not in os.environ


def test_the_mails_of_the_driver_log_are_in_a_folder_that_ends_with_the_server(
    site_with, monkeypatch
):
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    site = site_with(mail_driver="log")
    with shared_folder(site.cfg, "127.0.0.1"):
        folder = Path(os.environ[FOLDER_VARIABLE])
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()


def test_the_driver_log_keeps_the_latest_mails(site_with):
    folder = Path(new_folder("copies"))
    for number in range(SHOWN + 5):
        (folder / f"{number:04}.eml").write_text("Subject: x\n\n")
    prune(folder)
    assert sorted(path.name for path in folder.iterdir())[0] == "0005.eml"
    assert len(list(folder.iterdir())) == SHOWN
    assert open_transport(site_with(mail_driver="log").cfg, folder)


def test_a_mail_that_is_no_mail_is_shown_without_harm(dev):
    folder = Path(dev.cfg.mail_folder)
    (folder / "99999999T000000.000000Z-odd.eml").write_bytes(b"\xff\x00<script>alert(1)</script>")
    (folder / "99999999T000001.000000Z-odd.eml").write_bytes(
        b"Subject: <b>hi</b>\nTo: a@b\n\n<script>alert(1)</script> javascript:alert(1)"
    )
    page = dev.served.get(PATH, status=200)
    assert "<script>alert" not in page.text
    assert not page.html.select("h2 b")
    assert not page.html.select("a[href^=javascript]")


def test_only_urls_become_links():
    made = linked('see https://x.test/?a=1&b="2 <b> javascript:x http://y.test/.')
    assert made == (
        'see <a href="https://x.test/?a=1&amp;b=">https://x.test/?a=1&amp;b=</a>&#34;2 &lt;b&gt; '
        'javascript:x <a href="http://y.test/.">http://y.test/.</a>'
    )
