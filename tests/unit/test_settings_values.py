"""The parsers of single values."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from authsite.settings import duration, services, smtp_server, urls, values
from authsite.settings.durations import duration_or_forever

# A busy machine is no failure.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
SIZES = {"s": 1, "m": 60, "h": 3600, "d": 86400}
CENTURY = timedelta(days=36500)


def refused(parse, *texts):
    for text in texts:
        with pytest.raises(ValueError, match=r"^give "):
            parse(text)


def accepted(parse, text):
    """Whether ``text`` is taken; a refusal must be the usual one."""
    try:
        parse(text)
    except ValueError:
        refused(parse, text)
        return False
    return True


@unhurried
@given(st.integers(1, 10**10), st.sampled_from("smhdSMHD"))
def test_a_duration_is_its_number_of_units_or_refused_and_never_overflows(number, unit):
    seconds = number * SIZES[unit.lower()]
    parse = duration(CENTURY)

    if seconds > CENTURY.total_seconds():
        refused(parse, f"{number}{unit}")
    else:
        assert parse(f"{number}{unit}") == timedelta(seconds=seconds)
        assert datetime.now(UTC) + parse(f"{number}{unit}")


@unhurried
@given(st.text(max_size=12))
def test_any_text_is_a_duration_or_refused_with_what_is_accepted(text):
    parse = duration(CENTURY, bare_days=True)

    if accepted(parse, text):
        assert timedelta() < parse(text) <= CENTURY


def test_a_bare_number_is_days_only_where_the_specification_says_so():
    assert duration(CENTURY, bare_days=True)("3650") == timedelta(days=3650)
    refused(duration(CENTURY), "10")


def test_odd_durations_are_refused():
    refused(
        duration(CENTURY, bare_days=True),
        *("0", "0s", "-1", "+1", "1.5", "1_0", "1 d", "1w", "d", "", "1e3", "٣", "36501"),
        "9" * 5000,
    )


def test_zero_is_a_duration_where_it_means_never():
    parse = duration(timedelta(hours=1), zero=True)

    assert parse("0s") == parse("0") == timedelta()
    refused(parse, "61m", "1", "-1s")


def test_what_is_kept_is_kept_for_a_duration_or_forever():
    parse = duration_or_forever(CENTURY)

    assert parse("Forever") is None
    assert parse("90d") == timedelta(days=90)
    refused(parse, "0", "0d", "90", "for ever", "")
    with pytest.raises(ValueError, match=r"such as 90s.*or forever"):
        parse("never")


def test_the_limit_of_a_duration_is_named_in_its_own_unit():
    with pytest.raises(ValueError, match="at most 90m"):
        duration(timedelta(minutes=90))("2h")
    with pytest.raises(ValueError, match="at most 1d"):
        duration(timedelta(hours=24))("2d")
    with pytest.raises(ValueError, match="at most 61s"):
        duration(timedelta(seconds=61))("2d")


def test_booleans():
    for yes, no in (("true", "False"), ("YES", "no"), ("on", "off"), ("1", "0")):
        assert values.boolean(yes) is True
        assert values.boolean(no) is False
    refused(values.boolean, "maybe", "2", "", "truee")


def test_whole_numbers_in_a_range():
    parse = values.integer(10, 16)

    assert [parse("10"), parse("16")] == [10, 16]
    refused(parse, "9", "17", "12.0", "-12", "1_2", "١٢", " 12", "9" * 5000)


def test_variants_and_drivers():
    assert values.variant("b") == "B"
    assert values.mail_driver("SMTP") == "smtp"
    assert values.mail_sender("none") == "none"
    refused(values.variant, "C", "AB")
    refused(values.mail_driver, "sendmail")
    refused(values.mail_sender, "process")


def test_login_identifiers_keep_their_order():
    assert values.identifiers("phone email\nphone") == ("phone", "email")
    refused(values.identifiers, "mail", "email,phone", "")


def test_scopes_are_split_at_the_first_colon_that_a_blank_follows():
    text = "\nreports:read: Read: all reports\n  x:  \nbare\n"

    assert values.scopes(text) == {"reports:read": "Read: all reports", "x": "", "bare": ""}
    refused(values.scopes, "two words: x", 'quo"te: x', "a: x\na: y", "grün: x", ": x")


def test_colors_and_regions():
    assert values.color("#00AA77") == "#00aa77"
    assert values.color("#0a7") == "#0a7"
    assert values.region("de") == "DE"
    refused(values.color, "red", "#12345", "#00aa77;x")
    refused(values.region, "UK", "Germany", "")


def test_a_sender_is_one_address():
    for text in ("a@b.test", "A site <a+b@b.test>", "<a@localhost>"):
        assert values.mail_address(text) == text
    refused(
        values.mail_address,
        *("a", "a@b@c", "a@b, c@d", "A <a@b", "a@b\nBcc: c@d", "<>", "x <y> <a@b>", "a b@c"),
    )


def test_one_line_is_short_and_printable():
    assert values.line(5)("Grün!") == "Grün!"
    refused(values.line(5), "longer", "a\nb", "a\u202eb")


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


def test_an_allowed_url_is_kept_character_by_character():
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


def test_a_logo_is_a_url_or_a_path_of_ours():
    assert urls.logo("/static/logo.svg") == "/static/logo.svg"
    assert urls.logo("https://a.test/logo.svg") == "https://a.test/logo.svg"
    refused(urls.logo, "//evil.test/x.svg", "logo.svg", "data:image/png;base64,AA")


def test_a_cookie_domain_is_a_name_with_a_dot():
    assert urls.cookie_domain(".Example.org") == "example.org"
    refused(urls.cookie_domain, "localhost", "10.0.0.1", "a b.test", "https://a.test", ".")


@unhurried
@given(st.text(max_size=40))
def test_any_text_is_an_origin_that_stays_itself_or_refused(text):
    if accepted(urls.origin, text):
        origin = urls.origin(text)
        assert urls.origin(origin) == origin


def test_databases():
    assert services.database_url("sqlite:////var/x.sqlite") == "sqlite:////var/x.sqlite"
    assert services.database_url("postgres://u:p@h/d") == "postgresql://u:p@h/d"
    assert services.database_url("postgresql+psycopg://h/d") == "postgresql+psycopg://h/d"
    assert services.database_url("sqlite://") == "sqlite://"
    refused(services.database_url, "mysql://h/d", "postgresql+asyncpg://h/d", "x.sqlite")


def test_storages_of_limits():
    assert services.limits_storage("Memory") == services.limits_storage("memory://") == "memory"
    assert services.limits_storage("database") == "database"
    for url in ("redis://h:6379/0", "rediss://:p@h", "redis+unix:///run/redis"):
        assert services.limits_storage(url) == url
    refused(services.limits_storage, "postgres", "http://h", "redis://")


def test_a_mail_server_is_taken_apart():
    plain = smtp_server("smtp://localhost:25")
    login = smtp_server("smtp://us%40er:p%3Aw%2F@mail.test:587?starttls=1")
    tls = smtp_server("smtps://u:p@[::1]/")

    assert (plain.host, plain.port, plain.username, plain.tls) == ("localhost", 25, None, "none")
    assert (login.username, login.password, login.port) == ("us@er", "p:w/", 587)
    assert login.tls == "starttls"
    assert (tls.host, tls.port, tls.tls) == ("::1", 465, "implicit")
    assert smtp_server("smtp://h?starttls=0").tls == "none"


def test_a_mail_server_that_is_half_said_is_refused_without_showing_it():
    refused(
        services.smtp_url,
        *("localhost", "smtp://", "http://h", "smtp://h:0", "smtp://h:x", "smtp://user@h"),
        *("smtp://:pw@h", "smtp://h/path", "smtp://h?tls=1", "smtp://h?starttls=yes"),
        *("smtp://h?starttls=1&starttls=1", "smtps://h?starttls=1", "smtp://u:p%FF@h"),
        "smtp://u:p#w@h",
    )
    with pytest.raises(ValueError, match="give smtp") as error:
        services.smtp_url("smtp://user:geheim#1@h")
    assert "geheim" not in str(error.value)
    assert "geheim" not in repr(error.value.__cause__)
