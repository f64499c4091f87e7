"""The parsers of single values."""

from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authsite.platform.settings import Secret, duration, smtp_server, urls, values
from authsite.platform.settings.values import duration_or_forever
from tests.support.settings import accepted, refused, unhurried

SIZES = {"s": 1, "m": 60, "h": 3600, "d": 86400}
CENTURY = timedelta(days=36500)


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


def test_a_bare_number_is_days_only_as_in_the_specification():
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


def test_audit_events_stay_for_a_duration_or_forever():
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


def test_scopes_that_authsite_defines_itself_are_reserved():
    names = ("account", "openid", "profile", "email", "phone", "groups", "offline_access")
    for name in (*names, "admin:users:read"):
        with pytest.raises(ValueError, match=f"give {name} another name"):
            values.scopes(f"{name}: Text")
    assert list(values.scopes("Email: Text\nopenid2: Text")) == ["Email", "openid2"]
    for name in names[1:]:
        refused(values.personal_token_scope, name)
    assert values.personal_token_scope("notes:read") == "notes:read"


def test_schemes_of_programs():
    assert values.private_scheme("MyApp") == "myapp"
    for text in (
        "http", "HTTPS", "javascript", "data", "file", "blob", "vbscript", "intent", "mailto",
        "myapp://", "myapp:", "1app", "", "my_app", "a" * 65,
    ):  # fmt: skip
        refused(values.private_scheme, text)


def test_colors_and_regions():
    assert values.color("#00AA77") == "#00aa77"
    assert values.color("#0a7") == "#0a7"
    assert values.region("de") == "DE"
    refused(values.color, "red", "#12345", "#00aa77;x")
    refused(values.region, "UK", "Germany", "")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("a@b.test", "a@b.test"),
        ("A site <a+b@b.test>", "A site <a+b@b.test>"),
        ("<a@localhost>", "a@localhost"),
        ('"Acme, Inc." <a@b.test>', '"Acme, Inc." <a@b.test>'),
        ("Acme, Inc. <a@b.test>", '"Acme, Inc." <a@b.test>'),
        ("Dr. Smith: Co <a@b.test>", '"Dr. Smith: Co" <a@b.test>'),
        ("Müller (EU) <a@b.test>", '"Müller (EU)" <a@b.test>'),
        (r'"The \"Best\" Site" <a@b.test>', r'"The \"Best\" Site" <a@b.test>'),
        ('"Plain" <a@b.test>', "Plain <a@b.test>"),
    ],
)
def test_a_sender_is_one_address_with_a_name_that_is_quoted_if_it_has_to_be(text, canonical):
    assert values.mail_address(text) == canonical
    assert values.mail_address(canonical) == canonical


def test_a_sender_is_not_several_addresses_nor_half_of_one():
    refused(
        values.mail_address,
        *("a", "a@b@c", "a@b, c@d", "A <a@b", "a@b\nBcc: c@d", "<>", "x <y> <a@b>", "a b@c"),
        *("a@b.test, B <c@d.test>", '"A <a@b.test>', '"A" B <a@b.test>', "A <a@b.test> B"),
    )


def test_one_line_is_short_and_printable():
    assert values.single_line(5)("Grün!") == "Grün!"
    refused(values.single_line(5), "longer", "a\nb", "a\u202eb")


def test_the_name_for_the_mail_server_is_a_host_or_an_address():
    for text, name in (
        ("Mail.example.org", "mail.example.org"),
        ("192.0.2.1", "[192.0.2.1]"),
        ("[192.0.2.1]", "[192.0.2.1]"),
        ("[IPv6:2001:DB8::1]", "[IPv6:2001:db8::1]"),
        ("2001:db8::1", "[IPv6:2001:db8::1]"),
    ):
        assert urls.smtp_helo(text) == name
    refused(urls.smtp_helo, "", "a b", "a\r\nMAIL FROM:<x@y>", "[1.2.3]", "mail_\u00fc")


def test_hsts_is_host_subdomains_or_off():
    for text in ("host", "Subdomains", "off"):
        assert values.hsts(text) == text.lower()
    refused(values.hsts, "", "true", "on", "includeSubDomains")


def test_databases():
    assert urls.database_url("sqlite:////var/x.sqlite").reveal() == "sqlite:////var/x.sqlite"
    assert urls.database_url("postgres://u:p@h/d").reveal() == "postgresql://u:p@h/d"
    assert urls.database_url("postgresql+psycopg://h/d").reveal() == "postgresql+psycopg://h/d"
    assert urls.database_url("sqlite://").reveal() == "sqlite://"
    refused(urls.database_url, "mysql://h/d", "postgresql+asyncpg://h/d", "x.sqlite")


def test_storages_of_limits():
    assert urls.limits_storage("Memory") == urls.limits_storage("memory://") == Secret("memory")
    assert urls.limits_storage("database").reveal() == "database"
    for url in ("redis://h:6379/0", "rediss://:p@h", "redis+unix:///run/redis"):
        assert urls.limits_storage(url).reveal() == url
    refused(urls.limits_storage, "postgres", "http://h", "redis://")


def test_a_mail_server_is_taken_apart():
    plain = smtp_server("smtp://localhost:25")
    login = smtp_server("smtp://us%40er:p%3Aw%2F@mail.test:587?starttls=1")
    tls = smtp_server("smtps://u:p@[::1]/")

    assert (plain.host, plain.port, plain.username, plain.tls) == ("localhost", 25, None, "none")
    assert (login.username, login.password, login.port) == ("us@er", Secret("p:w/"), 587)
    assert login.tls == "starttls"
    assert (tls.host, tls.port, tls.tls) == ("::1", 465, "implicit")
    assert smtp_server("smtp://h?starttls=0").tls == "none"


def test_a_mail_server_that_is_half_said_is_refused_without_showing_it():
    refused(
        urls.smtp_url,
        *("localhost", "smtp://", "http://h", "smtp://h:0", "smtp://h:x", "smtp://user@h"),
        *("smtp://:pw@h", "smtp://h/path", "smtp://h?tls=1", "smtp://h?starttls=yes"),
        *("smtp://h?starttls=1&starttls=1", "smtps://h?starttls=1", "smtp://u:p%FF@h"),
        "smtp://u:p#w@h",
    )
    with pytest.raises(ValueError, match="give smtp") as error:
        urls.smtp_url("smtp://user:geheim#1@h")
    assert "geheim" not in str(error.value)
    assert "geheim" not in repr(error.value.__cause__)


@pytest.mark.parametrize("password", ["ge@heim", "ge/heim", "ge#heim", "ge?heim", "100%", "%zz"])
def test_trial_18_a_database_password_has_to_be_percent_encoded(password):
    refused(urls.database_url, f"postgresql://u:{password}@h/d")
    with pytest.raises(ValueError, match="percent-encoded: %40 for @") as error:
        urls.database_url(f"postgresql://u:{password}@h/d")
    assert "heim" not in str(error.value)
    encoded = f"postgresql://u:{quote(password, safe='')}@h:5432/d?sslmode=require"
    assert urls.database_url(encoded).reveal() == encoded
    assert urls.database_url("postgresql://postgres:@/d?host=/tmp/x@y")
    assert urls.database_url("postgresql:///d?host=/tmp")
