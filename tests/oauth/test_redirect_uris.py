"""Redirect URIs: what may be registered, and what a request may send."""

import pytest

from authsite.oauth.clients.redirect_uris import (
    Allowed,
    check,
    check_origin,
    difference,
    is_program,
    is_unencrypted,
    matches,
    web_uri,
)
from authsite.oauth.models import BROWSER, NATIVE, SERVER

WEB = "https://app.example.org/callback"


@pytest.mark.parametrize("client_type", [SERVER, BROWSER, NATIVE])
@pytest.mark.parametrize(
    "uri",
    [
        WEB,
        "https://app.example.org",
        "https://app.example.org:8443/a/b?x=1&y=%20",
        "https://App.example.org/Callback",
        "https://[2001:db8::1]/cb",
        "https://192.0.2.1/cb",
        "http://localhost/cb",
        "http://localhost:3000",
        "http://127.0.0.1:3000/cb?x=1",
        "http://[::1]:3000/cb",
        "https://app.example.org/@ann",
        f"https://app.example.org/{'a' * 2024}",
    ],
)
def test_what_every_type_may_register(client_type, uri):
    check(uri, client_type)


@pytest.mark.parametrize("client_type", [SERVER, BROWSER, NATIVE])
@pytest.mark.parametrize(
    ("uri", "advice"),
    [
        ("", "whole URI"),
        ("/callback", "whole URI"),
        ("//app.example.org/callback", "whole URI"),
        ("app.example.org/callback", "whole URI"),
        ("https:app.example.org/callback", "give the host"),
        ("https:/app.example.org/callback", "give the host"),
        ("https:///app.example.org/callback", "give the host"),
        ("https://", "give the host"),
        (f"https://app.example.org/{'a' * 2025}", "2048"),
        ("https://app.example.org/cb#part", "fragment"),
        ("https://app.example.org/cb#", "fragment"),
        # several @: keycloak#49109
        ("https://ann@app.example.org/cb", "user"),
        ("https://ann:secret@app.example.org/cb", "user"),
        ("https://app.example.org@evil.test/cb", "user"),
        ("https://a@app.example.org@evil.test/cb", "user"),
        ("http://localhost@evil.test/cb", "user"),
        ("http://localhost:80@evil.test/cb", "user"),
        # wildcards: keycloak#33115, #48430
        ("https://app.example.org/*", r"\*"),
        ("https://*.example.org/cb", r"\*"),
        ("http://localhost:*/cb", r"\*"),
        # what browsers read as a slash, or leave out
        ("https://app.example.org\\@evil.test/cb", "%XX"),
        ("https:\\\\app.example.org/cb", "%XX"),
        ("https://app.example.org/a b", "%XX"),
        (" https://app.example.org/cb", "%XX"),
        ("https://app.example.org/cb\n", "%XX"),
        ("https://app.example.org/c\tb", "%XX"),
        ("https://app.example.org/\0", "%XX"),
        ("https://app.example.org/\u00e4", "%XX"),
        ("https://\uff41pp.example.org/cb", "%XX"),
        ("https://app.example.org/<script>", "%XX"),
        ("https://app.example.org/%zz", "%XX"),
        ("https://app.example.org/%", "%XX"),
        ("https://app%2eexample.org/cb", "neither a name nor an address"),
        # numbers, which browsers read as 127.0.0.1
        ("https://2130706433/cb", "neither a name nor an address"),
        ("https://0x7f000001/cb", "neither a name nor an address"),
        ("https://127.0.0.0X1/cb", "neither a name nor an address"),
        ("https://app.example.org%2f@evil.test/cb", "user"),
        # hosts
        ("https://app..example.org/cb", "neither"),
        ("https://-/cb", "neither"),
        ("https://1.2.3/cb", "neither"),
        ("https://[::1/cb", "cannot be read"),
        ("https://[::1]evil.test/cb", "cannot be read"),
        ("https://[nonsense]/cb", "cannot be read"),
        ("https://[1.2.3.4]/cb", "cannot be read"),
        ("https://[ab.cd]/cb", "cannot be read"),
        ("https://app.example.org:/cb", "cannot be read"),
        ("https://app.example.org:0/cb", "cannot be read"),
        ("https://app.example.org:65536/cb", "cannot be read"),
        ("https://app.example.org:443:443/cb", "cannot be read"),
        ("https://app.example.org:x/cb", "cannot be read"),
        # http: keycloak#51285
        ("http://app.example.org/cb", "use https"),
        ("http://localhost.evil.test/cb", "use https"),
        ("http://localhost./cb", "neither"),
        ("http://LOCALHOST/cb", "use https"),
        ("http://evil.localhost/cb", "use https"),
        ("http://127.0.0.2/cb", "use https"),
        ("http://127.0.0.1.evil.test/cb", "use https"),
        ("http://[::2]/cb", "use https"),
        ("http://[0:0:0:0:0:0:0:1]/cb", "use https"),
        ("HTTP://localhost/cb", "use https"),
        # schemes that no client has
        ("javascript:alert(1)", "use"),
        ("JavaScript://localhost/%0aalert(1)", "use"),
        ("data:text/html,x", "use"),
        ("vbscript:x", "use"),
        ("file:///etc/passwd", "use"),
        ("blob:https://app.example.org/1", "use"),
        ("ftp://app.example.org/cb", "use"),
        ("urn:ietf:wg:oauth:2.0:oob", "use"),
        ("localhost:3000/cb", "use"),
        ("myapp://callback", "use"),
    ],
)  # fmt: skip
def test_what_no_type_may_register(client_type, uri, advice):
    """The URI is parsed when it is registered."""
    with pytest.raises(ValueError, match=advice):
        check(uri, client_type)


@pytest.mark.parametrize("authority", ["[x", "x]", "[1.2.3.4]", "["])
def test_a_scheme_of_a_program_before_a_host_that_no_page_could_show(authority):
    with pytest.raises(ValueError, match="cannot be read"):
        check(f"org.example.app://{authority}/callback", NATIVE)


@pytest.mark.parametrize(
    "uri",
    ["org.example.app:/callback", "org.example.app://callback", "org.example.app:callback?x=1"],
)
def test_the_scheme_of_a_program(uri):
    check(uri, NATIVE)
    for client_type in (SERVER, BROWSER):
        with pytest.raises(ValueError, match="for a program"):
            check(uri, client_type)


@pytest.mark.parametrize("uri", ["javascript:alert(1)", "Data:text/html,x", "blob:x/y", "ws://a/b"])
def test_a_scheme_with_another_meaning_is_never_to_be_listed(uri):
    scheme = uri.partition(":")[0].lower()
    with pytest.raises(ValueError, match="another meaning") as error:
        check(uri, NATIVE, Allowed((scheme,)))
    assert "private-schemes" not in str(error.value)


def test_a_scheme_without_a_dot_is_listed_in_the_settings():
    check("myapp://callback", NATIVE, Allowed(("myapp",)))
    check("MyApp://callback", NATIVE, Allowed(("myapp",)))
    for uri in ("myapp2://callback", "myapp-x://callback"):
        with pytest.raises(ValueError, match="private-schemes"):
            check(uri, NATIVE, Allowed(("myapp",)))
    with pytest.raises(ValueError, match="user"):
        check("myapp://ann@callback", NATIVE, Allowed(("myapp",)))
    with pytest.raises(ValueError, match="path"):
        check("myapp:", NATIVE, Allowed(("myapp",)))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
@pytest.mark.parametrize("registered_port", ["", ":7777"])
def test_a_program_on_loopback_has_any_port(host, registered_port):
    """Any port, and nothing else, for native clients alone."""
    registered = f"http://{host}{registered_port}/callback?x=1"
    for port in ("", ":1", ":3000", ":65535"):
        assert matches(registered, f"http://{host}{port}/callback?x=1", NATIVE)
    for client_type in (SERVER, BROWSER):
        assert not matches(registered, f"http://{host}:3000/callback?x=1", client_type)
        assert matches(registered, registered, client_type)
    for sent in (
        f"http://{host}:3000/callback", f"http://{host}:3000/callback/?x=1",
        f"http://{host}:3000/Callback?x=1", f"https://{host}:3000/callback?x=1",
        f"http://{host}:0/callback?x=1", f"http://{host}:65536/callback?x=1",
        f"http://{host}:/callback?x=1", f"http://{host}:3000/callback?x=1#",
        f"http://{host}:3000/callback?x=1&y=2", f"http://{host}:3000@evil.test/callback?x=1",
        f"http://{host}.evil.test:3000/callback?x=1", f"http://{host}:3000.evil.test/callback?x=1",
        f"http://ann@{host}:3000/callback?x=1", f"http://{host}:3000\\callback?x=1",
        f"http://{host}:\u0663/callback?x=1", "http://127.0.0.2:3000/callback?x=1",
    ):  # fmt: skip
        assert not matches(registered, sent, NATIVE), sent
    others = {"localhost", "127.0.0.1", "[::1]"} - {host}
    for other in others:
        assert not matches(registered, f"http://{other}:3000/callback?x=1", NATIVE)


@pytest.mark.parametrize("client_type", [SERVER, BROWSER, NATIVE])
@pytest.mark.parametrize(
    "sent",
    [
        f"{WEB}/", f"{WEB}/more", f"{WEB}?x=1", f"{WEB}?", f"{WEB}#", f"{WEB}/..;/evil",
        f"{WEB}/../evil", "https://app.example.org/x/../callback", WEB[:-1], WEB.upper(),
        "https://APP.example.org/callback", "HTTPS://app.example.org/callback",
        "https://app.example.org:443/callback", "https://app.example.org:8443/callback",
        "https://app.example.org/c%61llback", "https://app.example.org//callback",
        "https://app.example.org./callback", "https://app.example.org.evil.test/callback",
        "https://evil.test/callback", "https://app.example.org@evil.test/callback",
        "https://ann@app.example.org/callback", "http://app.example.org/callback",
        f" {WEB}", f"{WEB}\n", f"{WEB}\0", "", "*", "https://app.example.org\\callback",
    ],
)  # fmt: skip
def test_the_whole_text_is_compared(client_type, sent):
    """No prefix, no normal form."""
    assert matches(WEB, WEB, client_type)
    assert not matches(WEB, sent, client_type)


@pytest.mark.parametrize(
    ("sent", "parts"),
    [
        ("http://app.example.org/callback", ("scheme",)),
        ("https://app.example.com/callback", ("host",)),
        ("https://app.example.org:8443/callback", ("port",)),
        ("https://app.example.org/other", ("path",)),
        (f"{WEB}/", ("slash",)),
        ("https://app.example.org/Callback", ("case",)),
        ("https://App.example.org/callback", ("case",)),
        ("https://App.example.org/Callback/", ("slash", "case")),
        (f"{WEB}?x=1", ("query",)),
        (f"{WEB}?", ("query",)),
        (f"{WEB}#x", ("fragment",)),
        ("https://ann@app.example.org/callback", ("user",)),
        ("http://app.example.org:81/other", ("scheme", "port", "path")),
        ("callback", ("scheme", "host", "path")),
    ],
)
def test_which_part_differs_from_the_nearest_one(sent, parts):
    others = ["https://other.example.net/x?y=1", WEB]
    assert difference([WEB], sent, "server") == {"nearest": WEB, "differs": " ".join(parts)}
    assert difference(others, sent, "server")["differs"].split() == list(parts)
    assert difference([], sent, "server") == {}


@pytest.mark.parametrize(
    ("known", "sent", "parts"),
    [
        ("http://localhost:53123/callback", "http://localhost:41000/cb", "path"),
        ("http://localhost:53123/callback", "http://127.0.0.1:41000/callback", "host"),
        ("https://app.example.org:81/callback", "https://app.example.org:82/callback", "port"),
        ("org.example.app:/callback", "org.example.app://callback", "slashes"),
        ("org.example.app:/callback", "org.example.app:///callback", "slashes"),
        ("org.example.app:/callback", "org.example.app://other", "slashes path"),
        ("org.example.app://callback", "org.example.app:/callback", "slashes"),
    ],
)
def test_what_differs_of_a_program(known, sent, parts):
    """It may choose the port on loopback, and many send ``://`` for ``:/``."""
    assert difference([known], sent, "native")["differs"] == parts


def test_one_on_the_same_host_is_nearer_than_one_with_the_same_path():
    near = "https://app.example.org/a?b=c"
    found = difference(["https://evil.test/callback", near], WEB, "server")
    assert found == {"nearest": near, "differs": "path query"}


def test_origins_are_exactly_what_browsers_send():
    for good in ("https://app.example.org", "http://localhost:3000", "https://[2001:db8::1]:8443"):
        check_origin(good)
    for bad in (
        "https://app.example.org/", "https://app.example.org:443", "https://App.example.org",
        "http://app.example.org", "https://*.example.org", "*", "null", "https://a@b.example",
        "https://app.example.org/x", "http://localhost.evil.test", "http://127.0.0.2",
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"."):
            check_origin(bad)


def test_links_are_https():
    assert web_uri("https://example.org/privacy?x=1") == "https://example.org/privacy?x=1"
    for bad in ("http://example.org/", "javascript:alert(1)", "/privacy", "org.example.app:/x", ""):
        with pytest.raises(ValueError, match=r"."):
            web_uri(bad)


@pytest.mark.parametrize(
    ("uri", "program"),
    [
        ("http://localhost:3000/cb", True),
        ("http://[::1]/cb", True),
        ("https://localhost:8443/cb", True),
        ("https://App.LocalHost/cb", True),
        ("https://127.0.0.1/cb", True),
        ("https://127.1.2.3/cb", True),
        ("https://[::1]:8443/cb", True),
        ("https://[0:0:0:0:0:0:0:1]/cb", True),
        ("https://[::ffff:127.0.0.1]/cb", True),
        ("https://[::FFFF:7f00:2]/cb", True),
        ("https://0.0.0.0/cb", True),
        ("https://[::]/cb", True),
        ("org.example.app:/cb", True),
        (WEB, False),
        ("https://localhost.example.org/cb", False),
        ("https://notlocalhost/cb", False),
        ("https://127.0.0.1.example.org/cb", False),
        ("https://127.example.org/cb", False),
        ("https://[2001:db8::1]/cb", False),
        ("https://[::ffff:10.0.0.1]/cb", False),
    ],
)
def test_a_loopback_address_leads_to_a_program_with_https_too(uri, program):
    """9.5: then the user presses each time."""
    assert is_program(uri) is program


HOSTS = Allowed(http_hosts=("10.0.0.5", "[fd00::1]", "tool.corp.lan"))


@pytest.mark.parametrize(
    "uri",
    [
        "http://10.0.0.5/cb",
        "http://10.0.0.5:3000/cb?x=1",
        "http://[fd00::1]:3000/cb",
        "http://tool.corp.lan",
    ],
)
def test_a_server_in_a_private_network_that_a_setting_names_needs_no_tls(uri):
    check(uri, SERVER, HOSTS)
    assert not is_program(uri)
    assert is_unencrypted(uri)
    for client_type in (BROWSER, NATIVE):
        with pytest.raises(ValueError, match="use https"):
            check(uri, client_type, HOSTS)
    with pytest.raises(ValueError, match="http-redirect-hosts"):
        check(uri, SERVER)


@pytest.mark.parametrize(
    "uri",
    [
        "http://10.0.0.6/cb",
        "http://Tool.corp.lan/cb",
        "http://a.tool.corp.lan/cb",
        "http://tool.corp.lan.evil.test/cb",
        "http://tool.corp.lan@evil.test/cb",
        "http://[fd00:0::1]/cb",
        "http://fd00::1/cb",
        "HTTP://evil.test/cb",
    ],
)
def test_no_other_host_does_without(uri):
    with pytest.raises(ValueError, match=r"use https|user|host"):
        check(uri, SERVER, HOSTS)


@pytest.mark.parametrize(
    ("uri", "cleartext"),
    [("http://localhost:3000/cb", False), (WEB, False), ("org.example.app:/cb", False)],
)
def test_what_stays_on_this_computer_is_not_read_in_a_network(uri, cleartext):
    assert is_unencrypted(uri) is cleartext
