"""``caller=``: whose token opens an API route, and ``?caller=`` of forward auth (F3)."""

import pytest
from pyramid.config import not_
from pyramid.exceptions import ConfigurationError

from tests.support.host import hello, route
from tests.support.personal import created
from tests.support.site import WEB, bearer

FORWARD = "/v1/guard/api"
ROUTES = {
    "default": {},
    "any": {"caller": "any"},
    "user": {"caller": "user"},
    "client": {"caller": "client"},
    "verified": {"verified": True},
    "user.verified": {"caller": "user", "verified": True},
    "any.verified": {"caller": "any", "verified": True},
    "any.fresh": {"caller": "any", "fresh": "1d"},
}
# Who may call each route: the code of the refusal, or None.
REFUSED = {
    "confirmed": {"client": "client_required"},
    "unconfirmed": {
        "client": "client_required",
        **dict.fromkeys(("verified", "user.verified", "any.verified"), "email_not_verified"),
    },
    "personal": {"client": "client_required", "any.fresh": "insufficient_user_authentication"},
    "machine": dict.fromkeys(("user", "verified", "user.verified", "any.fresh"), "user_required"),
}


def build(config):
    for name, options in ROUTES.items():
        config.add_route(name, f"/{name}", guard="api", **options)
        config.add_view(hello, route_name=name)


def tokens_of(site):
    """The Authorization header of each kind of caller."""
    site.user("ann@example.com", confirmed=True)
    site.user("eve@example.com")
    keys, machine = site.first_party("web"), site.client("personal")
    ann, eve = (site.login(keys, f"{name}@example.com")["access_token"] for name in ("ann", "eve"))
    own = site.token(machine, grant_type="client_credentials").json["access_token"]
    return {
        "confirmed": bearer(ann),
        "personal": bearer(created(site, ann)),
        "unconfirmed": bearer(eve),
        "machine": bearer(own),
    }


def code_of(answer):
    if answer.status_int in (200, 204):
        return None
    assert answer.status_int in (401, 403), answer
    return answer.json["errors"][0]["code"]


def query_of(options):
    return "&".join(f"{name}={1 if value is True else value}" for name, value in options.items())


@pytest.mark.parametrize("cache", ["0s", "60s"])
def test_f3_the_option_says_whose_token_opens_a_route_and_passes_forward_auth(host_with, cache):
    site = host_with(build, guard_cache=cache, **WEB)
    for who, sent in tokens_of(site).items():
        for name, options in ROUTES.items():
            for headers in (sent, sent):  # the second one comes from memory, if there is one
                wanted = REFUSED[who].get(name)
                assert code_of(site.http.get(f"/{name}", headers=headers, status="*")) == wanted
                if "fresh" in options:
                    continue
                asked = f"{FORWARD}?{query_of(options)}"
                assert code_of(site.http.get(asked, headers=headers, status="*")) == wanted


def test_verified_with_caller_any_binds_users_alone_in_variant_b_too(host_with):
    site = host_with(build, variant="B", **WEB)
    sent = tokens_of(site)
    for path in ("/any.verified", f"{FORWARD}?caller=any&verified=1"):
        site.http.get(path, headers=sent["machine"])
        site.http.get(path, headers=sent["confirmed"])
        answer = site.http.get(path, headers=sent["unconfirmed"], status=403)
        assert code_of(answer) == "email_not_confirmed"


@pytest.mark.parametrize("value", [None, "", "users", "User", b"user", True, ("user",)])
def test_a_value_that_is_no_caller_stops_the_start(host_with, value):
    with pytest.raises(ConfigurationError, match="give 'user', 'client' or 'any'"):
        host_with(route(guard="api", caller=value))
    with pytest.raises(ConfigurationError, match="give 'user', 'client' or 'any'"):
        host_with(route(guard="api", caller=not_("user")))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        *(({"guard": "web", "caller": each}, "acts for a user") for each in ("user", "any")),
        ({"caller": "user"}, "no guard"),
        ({"guard": "api", "caller": "client", "verified": True}, "refuses every user"),
        ({"guard": "api", "caller": "client", "fresh": "1d"}, "refuses every user"),
        ({"guard": "api", "caller": "client", "unconfirmed": True}, "refuses every user"),
        ({"guard": "api", "caller": "user", "anonymous": True}, "anonymous=True would"),
        ({"guard": "api", "caller": "client", "anonymous": True}, "anonymous=True would"),
    ],
)
def test_a_caller_that_contradicts_another_option_stops_the_start(host_with, options, why):
    with pytest.raises(ConfigurationError, match=f"'reports': .*{why}"):
        host_with(route(**options))


def test_an_anonymous_route_may_say_that_any_caller_is_welcome(host_with):
    site = host_with(route(guard="api", caller="any", anonymous=True))
    assert site.http.get("/v1/reports").text == "hello you"


BAD = [
    "caller=",
    "caller=users",
    "caller=User",
    "caller=user,client",
    "caller=user&caller=client",
    "caller=any&caller=any",
    "caller=client&verified=1",
    "callers=user",
]


@pytest.mark.parametrize("query", BAD)
@pytest.mark.parametrize("headers", [{}, bearer("at_x")], ids=["no token", "bad token"])
def test_a_malformed_option_is_said_before_the_token_is_looked_at(site, query, headers):
    answer = site.http.get(f"{FORWARD}?{query}", headers=headers, status=400)
    assert [item["code"] for item in answer.json["errors"]] == ["invalid_request"]
    assert "WWW-Authenticate" not in answer.headers
    site.http.get("/v1/guard/web?caller=user", status=400)
