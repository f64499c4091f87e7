"""Tools of a private network without TLS: the setting ``http-redirect-hosts``."""

import pytest

from authsite.platform.settings import SettingsError
from tests.registering.conftest import OPEN
from tests.support.authorizing import (
    BASE,
    OPENID,
    answer_of,
    application,
    authorize,
    press,
    sign_in,
)
from tests.support.in_process import Commands
from tests.support.registering import PATH as REGISTER
from tests.support.settings import settings

HOST = "http://tool.corp.lan:3000"


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("", ()),
        ("10.0.0.5 172.16.9.9 192.168.1.1", ("10.0.0.5", "172.16.9.9", "192.168.1.1")),
        ("fd00::1", ("[fd00::1]",)),
        ("[fd00:0::1]", ("[fd00::1]",)),
        (
            "Tool.corp.LAN a.internal x.home.arpa nas.local b.test",
            ("tool.corp.lan", "a.internal", "x.home.arpa", "nas.local", "b.test"),
        ),
    ],
)
def test_hosts_are_exact_and_private(text, hosts):
    assert settings({"authsite.http-redirect-hosts": text}).http_redirect_hosts == hosts


@pytest.mark.parametrize(
    "text",
    [
        "tool.example.org", "8.8.8.8", "127.0.0.1", "169.254.169.254", "100.64.0.1", "172.32.0.1",
        "2001:db8::1", "fe80::1", "*.lan", ".lan", "lan", "localhost", "http://tool.lan",
        "tool.lan:80", "tool.lan/x", "0x0a000005", "10.5", "tool.lan.", "evil.testx",
    ],
)  # fmt: skip
def test_public_hosts_and_patterns_are_refused(text):
    with pytest.raises(SettingsError, match="http-redirect-hosts"):
        settings({"authsite.http-redirect-hosts": text})


def test_a_person_goes_there_and_every_place_warns(site_with, tmp_path):
    site = site_with(**OPENID, http_redirect_hosts="tool.corp.lan")
    site.user(confirmed=True)
    sign_in(site)
    commands = Commands(site, tmp_path, http_redirect_hosts="tool.corp.lan", **OPENID)
    add = ("client", "add", "--for", "generic", "--url", f"{HOST}/callback")
    made = commands.json(*add)
    update = commands.run("client", "update", made["client_id"], "--consent", "ask")
    for text in (update.output, commands.run("client", "show", made["client_id"]).output):
        assert f"{HOST}/callback" in text
        assert "can read the codes" in text
    app = application(site, redirect_uris=[f"{HOST}/cb"], no_consent=True)
    assert answer_of(authorize(site, app))["code"]  # the host is another computer
    asking = application(site, redirect_uris=[f"{HOST}/cb"])
    page = authorize(site, asking)
    assert "tool.corp.lan:3000" in page.text
    assert answer_of(press(site, page))["code"]


def test_without_the_setting_the_refusal_names_it(site, tmp_path):
    commands = Commands(site, tmp_path, **OPENID)
    add = ("client", "add", "--for", "generic", "--url", f"{HOST}/callback")
    assert "http-redirect-hosts" in commands.run(*add, status=1).output


@pytest.mark.parametrize("application_type", ["web", "native"])
def test_a_client_that_registers_itself_may_not_do_without_tls(site_with, application_type):
    site = site_with(**OPEN, http_redirect_hosts="tool.corp.lan")
    asked = {"redirect_uris": [f"{HOST}/cb"], "application_type": application_type}
    refused = site.http.post_json(f"{BASE}{REGISTER}", asked, status=400).json
    assert refused["error"] == "invalid_redirect_uri"
    assert "http-redirect-hosts" not in refused["error_description"]  # it would not help
