"""The Cookie header: what counts as a cookie of ours, and what reading it costs (C2, M1)."""

import re
from pathlib import Path

import pytest

import authsite
from authsite.platform.http.cookies import parse

SESSION = "__Host-authsite"


@pytest.mark.parametrize(
    ("header", "values"),
    [
        ("__Host-authsite=k", ("k",)),
        ("a=1; __Host-authsite=k; b=2", ("k",)),
        ("a=1;__Host-authsite=k;b=2", ("k",)),
        ("a=1;\t __Host-authsite=k \t;b", ("k",)),
        ('__Host-authsite="k"', ("k",)),
        ("__Host-authsite=k=", ("k=",)),
        ("__Host-authsite=", ("",)),
        ("__Host-authsite=k; __Host-authsite=k", ("k",)),
        ("__Host-authsite=k; __Host-authsite=m", ("k", "m")),
        ("\xff\xfe=\x80; __Host-authsite=k; \xc3\xa9", ("k",)),
        ('a="b; __Host-authsite=k', ("k",)),
        (";;;=;=;;__Host-authsite=k", ("k",)),
        ("__host-authsite=k", None),
        ("__Host-authsite", None),
        ("__Host-authsite =k", None),
        ("__Host-authsite-csrf=k", None),
        ("=__Host-authsite=k", None),
        ("a=1, __Host-authsite=k", None),
        ("a=__Host-authsite=k", None),
        ("", None),
    ],
)
def test_a_cookie_is_ours_if_it_has_exactly_our_name(header, values):
    assert parse(header).get(SESSION) == values


@pytest.mark.parametrize("before", [*',[]"\\ \t\xa0\x0b=()<>@:/?{}', "x", "x,", "x ", "-", "_"])
def test_m1_our_name_inside_another_name_is_not_ours(before):
    """M1: WebOb finds ``__Host-authsite`` in ``x,__Host-authsite``, which any host may set."""
    for header in (f"y{before}{SESSION}=mallory", f"a=1; y{before}{SESSION}=mallory"):
        assert SESSION not in parse(header)


def test_a_thousand_foreign_cookies_change_nothing():
    foreign = "; ".join(f"c{number}=\xe9{number}" for number in range(1000))
    assert parse(f"{foreign}; {SESSION}=k; {foreign}")[SESSION] == ("k",)


def test_c2_nothing_reads_cookies_with_webob():
    """C2: ``request.cookies`` takes seconds for 16 KB; see `authsite.platform.http.cookies`."""
    for path in Path(authsite.__file__).parent.rglob("*.py"):
        code = re.sub(r'"""[\s\S]*?"""', "", path.read_text())
        assert not re.search(
            r"\brequest\.(str_)?cookies\b|\bparse_cookie\b|RequestCookies", code
        ), path
