"""Where a login leads back to: a path of ours or a listed origin, whatever is asked for."""

from types import SimpleNamespace

import pytest

from authsite.platform.http.return_to import return_target
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD

HOSTILE = [
    "//evil.example", "///evil.example", "////evil.example", "/\\evil.example", "\\/evil.example",
    "\\\\evil.example", "/\\/evil.example", "/\t/evil.example", "/\n/evil.example",
    "/\r/evil.example", "\t//evil.example", " //evil.example", "//evil.example/%2f..",
    "https://evil.example", "http://evil.example", "HTTPS://evil.example", "https:evil.example",
    "https:/evil.example", "https:\\\\evil.example", "http:\\evil.example",
    "https://app.example.org@evil.example", "https://app.example.org.evil.example",
    "https://app.example.org:444", "http://app.example.org", "https://app.example.org\\@evil",
    "https://app.example.org%00.evil", "https://app.example.org\n.evil", "//app.example.org",
    "javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\tscript:alert(1)", "data:text/html,x",
    "vbscript:x", "file:///etc/passwd", "evil.example", "evil", "@evil.example", "?next=//evil",
    "#//evil", "", "/" + "a" * 3000, "/a\x00b", "/a b", "/a\x7fb", "/ /evil.example",
    "/\u2028/evil.example", "ftp://app.example.org/", "/\x1f/evil.example",
]  # fmt: skip


@pytest.fixture
def site(site_with):
    made = site_with(return_origins="https://app.example.org")
    made.user()
    return made


@pytest.mark.control("S07")
@pytest.mark.parametrize("target", HOSTILE[:8])
def test_a_hostile_next_leads_to_our_own_account_page(site, target):
    answer = sign_in(site, next=target)
    assert answer.headers["Location"] in ("/account", "http://localhost/account")


@pytest.mark.control("S07")
def test_no_hostile_next_is_even_put_into_the_form(site):
    for target in HOSTILE:
        if "\x00" in target or len(target) > 2048:
            continue
        page = site.http.get("/login", params={"next": target})
        assert page.forms[0]["next"].value == "", target


@pytest.mark.control("S07")
def test_the_check_itself_refuses_every_one(site):
    request = SimpleNamespace(authsite=SimpleNamespace(settings=site.cfg))
    assert [target for target in HOSTILE if return_target(request, target)] == []


@pytest.mark.parametrize(
    "target",
    ["/", "/account", "/reports?a=b&c=%2F%2Fevil", "/a//b", "/%2F%2Fevil.example", "/%C3%BC"],
)
def test_a_local_path_is_accepted(site, target):
    location = sign_in(site, next=target).headers["Location"]
    assert location.removeprefix("http://localhost") == target


LISTED = [
    "https://app.example.org", "https://app.example.org/back?x=1&y=2#z",
    "https://app.example.org/'\"><script>alert(1)</script>", "https://app.example.org/;url=//evil",
]  # fmt: skip


@pytest.mark.control("S07")
def test_a_listed_origin_needs_a_plain_url(site):
    """Browsers remove some of these characters, and read a backslash as a slash."""
    request = SimpleNamespace(authsite=SimpleNamespace(settings=site.cfg))
    for odd in (" ", "\t", "\n", "\r", "\\", "\x00", "\x1f", "\x7f", "\u00e9", "\u2028", "\u3000"):
        for target in (f"{LISTED[0]}/a{odd}b", f"{LISTED[0]}/{odd}", f"{LISTED[0]}{odd}"):
            assert return_target(request, target) is None, target
    longest = f"{LISTED[0]}/".ljust(2048, "a")
    assert return_target(request, longest) == longest
    assert return_target(request, f"{longest}a") is None
    assert return_target(request, "https://[app.example.org") is None


@pytest.mark.parametrize("target", LISTED)
def test_a_listed_origin_is_reached_over_a_page_of_ours(site, target):
    """Browsers apply the policy's form-action to a redirect that answers a form (trial 3, too)."""
    page = submit(site, "/login", username="ann@example.com", password=PASSWORD, next=target)
    assert page.status_int == 200
    assert page.headers["Cache-Control"] == "no-store"
    assert "form-action 'self'" in page.headers["Content-Security-Policy"]
    assert "authsite=" in "".join(page.headers.getall("Set-Cookie"))
    assert "Continue to app.example.org" in page.html.title.text
    assert page.html.select_one("meta[http-equiv=refresh]")["content"] == f"0;url={target}"
    assert page.html.select_one("main a")["href"] == target
    assert page.html.select("script") == []
    site.http.get("/account", status=200)


@pytest.mark.control("S07")
@pytest.mark.parametrize("target", HOSTILE[8:])
def test_the_page_that_leads_on_is_not_made_for_a_hostile_target(site, target):
    answer = submit(site, "/login", username="ann@example.com", password=PASSWORD, next=target)
    assert answer.status_int == 303
    assert answer.location == "http://localhost/account"


def test_who_is_signed_in_already_is_redirected(site):
    sign_in(site)
    for target in LISTED[:2]:
        assert site.http.get("/login", params={"next": target}).headers["Location"] == target
    for target in HOSTILE:
        if "\x00" not in target:
            answer = site.http.get("/login", params={"next": target})
            assert answer.location == "http://localhost/account", target


@pytest.mark.control("S07")
def test_the_referer_is_never_a_target(site):
    answer = sign_in(site)
    assert answer.location == "http://localhost/account"
    headers = {"Referer": "https://evil.example/"}
    assert site.http.get("/login", headers=headers).location == "http://localhost/account"
