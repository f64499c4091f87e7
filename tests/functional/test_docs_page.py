"""GET /docs: the OpenAPI document to read, from our own files alone and without scripts."""

import re
import shlex
from urllib.parse import urlsplit

import pytest
from bs4 import BeautifulSoup

from tests.support.described import Described
from tests.support.site import WEB


@pytest.fixture
def page(site):
    return soup(site)


def soup(site, query=""):
    return BeautifulSoup(site.http.get(f"/docs{query}").text, "html.parser")


def shown(page):
    """``METHOD path`` of every endpoint on the page."""
    return {
        (line.find(class_="method").text, line.code.text)
        for line in page.find_all(class_="address")
    }


def test_every_endpoint_of_the_document_is_on_the_page(site, page):
    aliases = {code.text for code in page.select(".facts code")}
    for method, path, operation in Described(site).operations():
        if "x-alias-of" in operation:
            assert path in aliases
        else:
            assert (method, path) in shown(page)


def test_endpoints_stand_under_the_headings_of_their_groups(site, page):
    names = [tag["name"] for tag in Described(site).document["tags"]]
    assert [heading.text for heading in page.select("main .group > header h2")] == names


def test_the_list_at_the_side_leads_to_every_endpoint(page):
    targets = [link["href"].removeprefix("#") for link in page.select(".side a")]
    assert len(targets) == len(set(targets)) > 10
    assert all(page.find(id=target) for target in targets)


def test_an_endpoint_shows_parameters_requests_answers_and_errors(page):
    article = page.find(id="post_oauth_token").find_parent("article")
    names = [row.th.code.text for row in article.table.tbody.find_all("tr")]
    assert names[:2] == ["grant_type", "client_id"]
    assert article.find(class_="required").text == "required"
    assert len(article.select("figure.request")) == 3
    assert '"token_type": "Bearer"' in article.find("figure", class_=None).pre.text
    codes = [case.code.text for case in article.select(".errors li summary")]
    assert {"invalid_client", "invalid_grant", "invalid_request"} <= set(codes)
    assert [it.text for it in article.select(".errors > summary .status")][:2] == ["400", "401"]


def test_the_page_loads_nothing_from_elsewhere_and_runs_nothing(site, page):
    loaded = [
        tag[name] for name in ("src", "href", "action") for tag in page.find_all(**{name: True})
    ]
    assert loaded
    for address in loaded:
        assert urlsplit(address).netloc == "", address
        assert address.startswith(("/", "#")), address
        assert not address.startswith("//"), address
        if address.startswith("/"):
            assert site.http.get(address.partition("#")[0]).status_int == 200
    assert not page.find_all(["script", "style", "iframe", "object", "base"])
    attributes = {name for tag in page.find_all(True) for name in tag.attrs}
    assert "style" not in attributes
    assert not [name for name in attributes if name.startswith("on")]


def test_the_stylesheet_loads_nothing_further(site, page):
    [link] = page.find_all("link", rel="stylesheet")
    styles = site.http.get(link["href"]).text
    assert "url(" not in styles
    assert "@import" not in styles
    assert "prefers-color-scheme: dark" in styles


def test_the_page_carries_the_policy_that_forbids_inline_code(site):
    answer = site.http.get("/docs")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_the_page_is_asked_for_again_and_sent_only_when_it_changed(site):
    first = site.http.get("/docs")
    assert first.headers["Cache-Control"] == "private, no-cache"
    again = site.http.get("/docs", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_int == 304


def test_the_filter_leaves_what_has_all_the_words(site):
    page = soup(site, "?q=oauth+ISSUE")
    assert shown(page) == {("POST", "/v1/oauth/token")}
    assert page.find(role="status").text.split()[:2] == ["1", "endpoint"]
    assert page.find(id="q")["value"] == "oauth ISSUE"
    assert len(page.select(".side li")) == 1


def test_the_filter_finds_methods_groups_and_other_paths_of_the_same(site):
    assert {method for method, _ in shown(soup(site, "?q=delete+%2Fv1%2Flogout"))} == {"DELETE"}
    assert ("POST", "/v1/register") in shown(soup(site, "?q=registration"))
    assert ("GET", "/v1/user") in shown(soup(site, "?q=profile"))


def test_a_filter_without_a_hit_says_so_and_offers_everything(site):
    page = soup(site, "?q=nothing+like+this")
    assert shown(page) == set()
    assert "No endpoint" in page.find(role="status").text
    assert page.find(role="status").a["href"] == "/docs"


def test_a_filter_is_a_form_that_needs_no_script(page):
    form = page.find("form", role="search")
    assert (form.get("method", "get"), form["action"]) == ("get", "/docs")
    assert page.find("label", attrs={"for": "q"})


@pytest.mark.parametrize("typed", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>'])
def test_what_was_typed_comes_back_as_text(site, typed):
    answer = site.http.get("/docs", {"q": typed})
    page = BeautifulSoup(answer.text, "html.parser")
    assert typed not in answer.text
    assert page.find(id="q")["value"] == typed
    assert not page.find_all("script")
    assert not [tag for tag in page.find_all(True) if "onerror" in tag.attrs]


def test_an_endless_filter_is_cut(site):
    assert len(soup(site, f"?q={'x' * 5000}").find(id="q")["value"]) == 100


def test_the_examples_carry_the_address_of_the_site(site, site_with):
    assert "curl http://localhost:80/v1" not in site.http.get("/docs").text
    assert "curl http://localhost/v1/user" in site.http.get("/docs").text
    other = site_with(base_url="https://auth.example.org")
    assert "curl https://auth.example.org/v1/user" in other.http.get("/docs").text


def test_the_example_requests_work_as_they_are_written(site_with):
    site = site_with(**WEB)
    site.first_party("web")
    page = soup(site)
    web, machine = site.client(), site.client("personal")
    known = {"CLIENT_ID": web.client_id, "CLIENT_SECRET": web.client_secret}

    def run(entry, number=0):
        lines = page.find(id=entry).find_parent("article").select("figure.request pre")
        return send(site, lines[number].text, known)

    assert run("post_register").status_int == 201
    tokens = run("post_oauth_token", 0).json
    known["REFRESH_TOKEN"] = tokens["refresh_token"]
    tokens = run("post_oauth_token", 2).json
    known["ACCESS_TOKEN"] = tokens["access_token"]
    assert run("get_user").json["email"] == "ann@example.com"
    assert run("delete_logout").status_int == 200
    tokens = run("post_proxy_login").json
    known["REFRESH_TOKEN"] = tokens["refresh_token"]
    tokens = run("post_proxy_refresh", 0).json
    known["REFRESH_TOKEN"] = tokens["refresh_token"]
    assert run("post_proxy_refresh", 1).status_int == 200
    known |= {"CLIENT_ID": machine.client_id, "CLIENT_SECRET": machine.client_secret}
    assert run("post_oauth_token", 1).status_int == 200
    assert run("get_openapi").status_int == 200


def send(site, command, variables):
    """Do what curl would do with ``command`` in a shell that has ``variables``."""
    for name, value in variables.items():
        command = command.replace(f"${name}", value)
    program, *words = shlex.split(command.replace("\\\n", " "))
    assert program == "curl"
    assert "$" not in command
    method, url, headers, fields, body, user = None, None, {}, [], None, None
    words = iter(words)
    for word in words:
        if word == "-X":
            method = next(words)
        elif word == "-H":
            name, value = next(words).split(": ", 1)
            headers[name] = value
        elif word == "-b":
            headers["Cookie"] = next(words)
        elif word == "-u":
            user = tuple(next(words).split(":", 1))
        elif word in ("-d", "--data-urlencode"):
            body = next(words)
            name, equals, value = body.partition("=")
            if not equals:
                continue
            assert word == "--data-urlencode" or re.fullmatch(r"[\w@.:/-]*", value)
            fields.append((name, value))
        else:
            url = word
    site.http.reset()
    site.http.authorization = ("Basic", user) if user else None
    try:
        if fields:
            return site.http.post(urlsplit(url).path, fields, headers=headers, status="2*")
        if body:
            return site.http.post(urlsplit(url).path, body, headers=headers, status="2*")
        return site.http.request(
            urlsplit(url).path, method=method or "GET", headers=headers, status="2*"
        )
    finally:
        site.http.authorization = None
