"""URLs, origins and domains in the settings."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authsite.platform.db import open_database
from authsite.platform.settings import SettingsError, load, urls
from authsite.platform.settings.urls import database_url, read_urls
from tests.support.settings import accepted, refused, unhurried
from tests.support.site import SECRET


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("https://Auth.Example.org/", "https://auth.example.org"),
        ("HTTPS://auth.example.org:443", "https://auth.example.org"),
        ("http://localhost:6543", "http://localhost:6543"),
        ("http://[2001:DB8::1]:80/auth/", "http://[2001:db8::1]/auth"),
        ("https://a.test/a/b-c_d~%20", "https://a.test/a/b-c_d~%20"),
    ],
)
def test_base_url_is_canonical_and_has_no_slash_at_its_end(text, canonical):
    assert urls.base_url(text) == canonical
    assert urls.base_url(canonical) == canonical


def test_base_url_may_be_several_in_order_and_once_each():
    text = "https://a.test https://B.test/x/\nhttps://a.test/"
    assert urls.base_urls(text) == ("https://a.test", "https://b.test/x")
    refused(urls.base_urls, "https://a.test,https://b.test/?", "https://a.test b.test")


HOSTILE = [
    "",
    "auth.example.org",
    "//auth.example.org",
    "ftp://auth.example.org",
    "javascript://auth.example.org/%0aalert(1)",
    "https://",
    "https:///path",
    "https://user@auth.example.org",
    "https://user:password@auth.example.org",
    "https://auth.example.org\\@evil.test",
    "https://auth.example.org#fragment",
    "https://*.example.org",
    "https://example.org/*",
    "https://auth.example.org:0",
    "https://auth.example.org:",
    "https://auth.example.org:65536",
    "https://auth.example.org:٤",
    "https://-bad.test",
    "https://bad..test",
    "https://300.1.1.1",
    "https://[::1",
    "https://[fe80::1%eth0]",
    "https://bücher.example",
    "https://a.test /x",
    "https://a.test\t/x",
    "https://a.test\n",
    "https://a.test/<script>",
    "https://a.test/" + "x" * 2050,
    "null",
    "*",
]


@pytest.mark.parametrize("parse", [urls.base_url, urls.web_url, urls.origin])
def test_hostile_urls_are_refused(parse):
    refused(parse, *HOSTILE)


def test_base_url_has_a_plain_path():
    refused(urls.base_url, "https://a.test/?", "https://a.test/a//b", "https://a.test/a/../b")


def test_an_allowed_url_stays_the_same_character_by_character():
    text = "https://App.test:443/verify/?next=%2F&x="

    assert urls.web_url(text) == text


def test_an_origin_is_as_browsers_write_it():
    assert urls.origins("https://App.test:443/ http://a.test:8080\nhttps://app.test") == (
        "https://app.test",
        "http://a.test:8080",
    )
    refused(urls.origin, "https://a.test/path", "https://a.test?", "https://a.test/?x=1")


def test_a_login_page_is_a_name_or_an_absolute_url():
    assert urls.login_page("/sign-in/") == "sign-in"
    assert urls.login_page("auth/login.html") == "auth/login.html"
    assert urls.login_page("https://a.test/login") == "https://a.test/login"
    refused(
        urls.login_page,
        *("", "/", "//evil.test", "a b", "../x", "a/../b", "javascript:x", "ftp://a.test"),
    )


def test_a_logo_is_a_url_a_path_or_a_file_of_ours():
    assert urls.logo("logo.svg") == "logo.svg"
    assert urls.logo("/static/logo.svg") == "/static/logo.svg"
    assert urls.logo("https://a.test/logo.svg") == "https://a.test/logo.svg"
    refused(urls.logo, "//evil.test/x.svg", "data:image/png;base64,AA")


def test_a_cookie_domain_is_a_name_with_a_dot():
    assert urls.cookie_domain(".Example.org") == "example.org"
    refused(urls.cookie_domain, "localhost", "10.0.0.1", "a b.test", "https://a.test", ".")


@unhurried
@given(st.text(max_size=40))
def test_any_text_is_an_origin_that_stays_itself_or_refused(text):
    if accepted(urls.origin, text):
        origin = urls.origin(text)
        assert urls.origin(origin) == origin


def test_cors_origins_may_have_the_scheme_of_an_app():
    given = "https://A.example capacitor://localhost ionic://localhost https://a.example:443"
    expected = ("https://a.example", "capacitor://localhost", "ionic://localhost")
    assert urls.cors_origins(given) == expected
    refused(
        urls.cors_origins, "capacitor://localhost/x", "file:///", "null", "*", "app://*", "app:"
    )
    refused(urls.origins, "capacitor://localhost")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("off", None),
        ("ON", "https://api.pwnedpasswords.com/range"),
        ("https://Pwned.example.org/range/", "https://pwned.example.org/range"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
    ],
)
def test_a_range_service_is_off_on_or_a_url(given, expected):
    assert urls.range_service(given) == expected


@pytest.mark.parametrize(
    "given", ["", "yes", "ftp://a.example", "https://a.example/range?x=1", "https://u:p@a.example"]
)
def test_what_is_no_range_service_is_refused(given):
    with pytest.raises(ValueError, match="give on, off, or the URL"):
        urls.range_service(given)


@pytest.mark.parametrize(
    "host", ["[::1]:1,b", "[::1],b", "a,b:x", "a:x", "a:5432:1", "a,,b", "[nonsense]", "a,b:123456"]
)
def test_a_host_of_the_database_that_no_connection_can_use_stops_the_start(host):
    with pytest.raises(ValueError, match="give each host as name or name:5432"):
        database_url(f"postgresql://user:pa%2Fss@{host}/name?sslmode=require")


@pytest.mark.parametrize("host", ["", "a", "a:1", "[::1]", "[::1]:5432", "a,b", "a:1,10.0.0.2:2"])
def test_hosts_of_the_database_that_sqlalchemy_accepts(host):
    url = database_url(f"postgresql://user:pa%2Fss@{host}/name?sslmode=require").reveal()
    open_database(url).dispose()


def test_each_standby_has_a_url_and_sqlite_has_none():
    text = "postgres://ann:pw@first,second:5433/db?sslmode=require"
    assert [each.reveal() for each in read_urls(text)] == [
        "postgresql://ann:pw@first/db?sslmode=require",
        "postgresql://ann:pw@second:5433/db?sslmode=require",
    ]
    [one] = read_urls("postgresql://ann:pw@[::1]:5433/db")
    assert one.reveal() == "postgresql://ann:pw@[::1]:5433/db"
    assert read_urls("") == ()
    with pytest.raises(ValueError, match="a SQLite file has no standby"):
        read_urls("sqlite:///x.sqlite")
    with pytest.raises(ValueError, match="give each host"):
        read_urls("postgresql://ann@first,second:x/db")


def test_the_primary_of_a_standby_is_no_sqlite_file():
    ini = {"authsite.secret": SECRET, "authsite.database-read-url": "postgresql://first/db"}
    with pytest.raises(SettingsError, match="which has no standbys"):
        load(ini, {})
    primary = {"authsite.database-url": "postgresql://second/db"}
    assert load(ini | primary, {}).database_read_lag == timedelta(seconds=1)
