"""GET /metrics: who may read it."""

import pytest

from tests.support.site import bearer

TOKEN = "nJ7wq2Vx0RkLm9TzYb4cHd6FsGa8PeUi1oXvCtQy"
LOCAL = {"REMOTE_ADDR": "127.0.0.1"}


@pytest.mark.control("X04")
@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
def test_the_machine_itself_reads_the_metrics(site, address):
    answer = site.http.get("/metrics", extra_environ={"REMOTE_ADDR": address})
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.control("X04")
@pytest.mark.parametrize("address", ["192.0.2.1", "10.0.0.1", "::2", "::ffff:192.0.2.1", ""])
def test_for_others_there_is_nothing(site, address):
    here = {"REMOTE_ADDR": address}
    answer = site.http.get("/metrics", extra_environ=here, status=404)
    assert "authsite_" not in answer.text
    # A token that is not set opens nothing.
    for sent in (bearer(""), bearer("None"), bearer(TOKEN)):
        site.http.get("/metrics", headers=sent, extra_environ=here, status=404)


@pytest.mark.control("X04")
@pytest.mark.parametrize(
    "header",
    [
        "Forwarded",
        "Via",
        "X-Real-IP",
        "X-Forwarded-For",
        "X-Forwarded-Proto",
        "X-Forwarded-Host",
        "X-Forwarded-Port",
        "X-Forwarded-Anything",
        "CF-Connecting-IP",
        "True-Client-IP",
        "X-Client-IP",
        "X-Envoy-External-Address",
        "X-Original-URL",
    ],
)
@pytest.mark.parametrize("value", ["", "127.0.0.1", "for=127.0.0.1"])
def test_what_a_proxy_of_this_machine_passes_on_is_not_the_machine_itself(site, header, value):
    site.http.get("/metrics", headers={header: value}, extra_environ=LOCAL, status=404)


@pytest.mark.control("X04")
@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LocalHost:6543", 200),
        ("authsite.localhost:6543", 200),
        ("127.0.0.1:6543", 200),
        ("127.9.9.9", 200),
        ("[::1]:6543", 200),
        ("evil.example", 404),
        ("evil.example:6543", 404),
        ("localhost.evil.example", 404),
        ("127.0.0.1.evil.example", 404),
        ("127.1", 404),
        ("192.0.2.1", 404),
        ("[::2]", 404),
    ],
)
def test_l5_a_page_that_rebinds_its_name_to_this_machine_gets_nothing(site, host, status):
    site.http.get("/metrics", headers={"Host": host}, extra_environ=LOCAL, status=status)


@pytest.mark.control("X04")
def test_l5_a_request_without_a_host_gets_nothing(site):
    old = {**LOCAL, "SERVER_PROTOCOL": "HTTP/1.0", "HTTP_HOST": ""}
    site.http.get("/metrics", extra_environ=old, status=404)


@pytest.mark.control("X04")
def test_a_trusted_proxy_that_names_this_machine_is_still_a_proxy(site_with):
    site = site_with(trusted_proxies="127.0.0.1")
    named = {"X-Forwarded-For": "127.0.0.1"}
    site.http.get("/metrics", headers=named, extra_environ=LOCAL, status=404)


@pytest.mark.control("X04")
def test_the_token_opens_the_metrics_from_anywhere(site_with):
    site = site_with(metrics_token=TOKEN)
    site.http.get("/metrics", headers=bearer(TOKEN), status=200)
    site.http.get("/metrics", headers={"Authorization": f"bearer  {TOKEN}"}, status=200)
    forwarded = {"X-Forwarded-For": "192.0.2.9", **bearer(TOKEN)}
    site.http.get("/metrics", headers=forwarded, extra_environ=LOCAL, status=200)
    site.http.get("/metrics", extra_environ=LOCAL, status=200)


@pytest.mark.control("X04")
@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN.lower()}",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer \xfc",
        "Bearer " + "x" * 5000,
    ],
)
def test_without_the_right_token_the_answer_is_401(site_with, authorization):
    site = site_with(metrics_token=TOKEN)
    answer = site.http.get("/metrics", headers={"Authorization": authorization}, status=401)
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="authsite metrics"'
    assert TOKEN not in answer.text
