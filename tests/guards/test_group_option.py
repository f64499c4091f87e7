"""``group="ops"``: a route and forward auth for the members of one group."""

import pytest
from sqlalchemy import update
from webtest import TestApp

from authsite.oauth.models import Client
from authsite.sign_in import credentials
from authsite.sign_in.sessions.models import BrowserSession
from authsite.testing import bearer_token, session_cookie
from authsite.users.models import User
from tests.support.host import hello
from tests.support.pages import sign_in
from tests.support.personal import created
from tests.support.site import bearer
from tests.support.statements import counted

JSON = {"Accept": "application/json"}


def build(config):
    for guard in ("api", "web"):
        for name, options in {
            "ops": {"group": "ops"},
            "fresh": {"group": "ops", "fresh": "1d"},
            "owner": {"group": "authsite:owner"},
            "any": {} if guard == "web" else {"group": "ops", "caller": "any"},
        }.items():
            config.add_route(f"{guard}.{name}", f"/{guard}/{name}", guard=guard, **options)
            config.add_view(hello, route_name=f"{guard}.{name}")


@pytest.fixture
def site(host_with):
    made = host_with(build)
    made.user(confirmed=True)
    return made


def label(site, text):
    with site.db() as db:
        db.execute(update(User).values(labels=text))


def code_of(answer):
    return answer.json["errors"][0]["code"] if answer.status_int >= 400 else None


def ask(site, path, **headers):
    answer = site.http.get(path, headers={**JSON, **headers}, status=[200, 204, 401, 403])
    return code_of(answer)


@pytest.mark.parametrize(
    ("labels", "code"),
    [
        ("ops", None),
        ("a ops z", None),
        (None, "group_required"),
        ("op ops2 opsx", "group_required"),
        ("ops=aal2", "insufficient_user_authentication"),  # a step-up is of help
        ("authsite:owner", "group_required"),
    ],
)
@pytest.mark.parametrize("path", ["/{}/ops", "/v1/guard/{}?group=ops"])
def test_only_members_pass(site, path, labels, code):
    token = bearer(site.login(site.client())["access_token"])
    sign_in(site)
    label(site, labels)
    assert ask(site, path.format("api"), **token) == code
    assert ask(site, path.format("web")) == code


def test_a_reserved_group_may_be_required(site):
    sign_in(site)
    weak, strong = credentials.pack(("pwd",)), credentials.pack(("pwd", "otp"))
    for labels, proofs, code in (
        ("ops", strong, "group_required"),
        ("authsite:owner", weak, "insufficient_user_authentication"),
        ("authsite:owner", strong, None),
    ):
        label(site, labels)
        with site.db() as db:
            db.execute(update(BrowserSession).values(facts=proofs))
        assert ask(site, "/web/owner") == code
        assert ask(site, "/v1/guard/web?group=authsite:owner") == code


@pytest.mark.parametrize("path", ["/api/ops", "/api/any", "/v1/guard/api?group=ops"])
def test_no_token_of_a_client_passes(site, path):
    keys = site.client("personal")
    with site.db() as db:
        db.execute(update(Client).values(require_group="ops"))
    label(site, "ops")
    token = site.token(keys, grant_type="client_credentials").json["access_token"]
    assert ask(site, path, **bearer(token)) == "group_required"


def test_a_personal_access_token_is_of_its_user(site):
    token = bearer(created(site, site.login(site.client())["access_token"]))
    assert ask(site, "/api/ops", **token) == "group_required"
    label(site, "ops")
    assert ask(site, "/api/ops", **token) is None
    label(site, "ops=aal1")  # the token is of no sign-in, so no step-up is of help
    assert ask(site, "/api/ops", **token) == "login_required"


def test_a_browser_that_asks_for_a_page_gets_a_page(site):
    sign_in(site)
    page = site.http.get("/web/ops", headers={"Accept": "text/html"}, status=403)
    assert page.content_type == "text/html"
    assert "only for the members of a group" in page.text


def test_forward_auth_leads_a_member_of_nothing_nowhere(site):
    """Neither the login page nor any other page would help."""
    sign_in(site)
    answer = site.http.get("/v1/guard/web?group=ops&redirect=1", status=403)
    assert code_of(answer) == "group_required"
    assert "X-Auth-Login-Url" not in answer.headers


def test_without_a_credential_the_answer_is_401(site):
    for path in ("/api/ops", "/web/ops", "/v1/guard/api?group=ops", "/v1/guard/web?group=ops"):
        site.http.get(path, headers=JSON, status=401)


def test_the_group_comes_before_a_recent_login(site, frozen):
    """A new login would not help."""
    keys = site.client()
    tokens = site.login(keys)
    frozen.advance(2 * 86400)
    token = bearer(site.refresh(keys, tokens["refresh_token"])["access_token"])
    assert ask(site, "/api/fresh", **token) == "group_required"
    label(site, "ops")
    answer = site.http.get("/api/fresh", headers=token, status=401)
    assert code_of(answer) == "insufficient_user_authentication"


def test_the_headers_have_the_groups(site):
    label(site, "finance=aal2 ops z:1")
    headers = bearer(site.login(site.client())["access_token"])
    sign_in(site)
    for path in ("/v1/guard/api", "/v1/guard/web", "/v1/guard/web?anonymous=1"):
        answer = site.http.get(path, headers=headers)
        assert answer.headers.getall("X-Auth-Groups") == ["ops,z:1"]
    keys = site.client("personal")
    token = site.token(keys, grant_type="client_credentials").json["access_token"]
    answer = site.http.get("/v1/guard/api", headers=bearer(token))
    assert answer.headers.getall("X-Auth-Groups") == [""]


def test_thirty_groups_of_the_longest_names_fit_in_the_header(site):
    names = [f"{number:02}{'x' * 30}" for number in range(30)]
    label(site, " ".join(names))
    headers = bearer(site.login(site.client())["access_token"])
    answer = site.http.get("/v1/guard/api", headers=headers)
    assert answer.headers["X-Auth-Groups"].split(",") == names


def test_the_option_costs_no_query(site):
    token = bearer(site.login(site.client())["access_token"])
    sign_in(site)
    label(site, "ops")
    for path in ("/api/ops", "/web/ops", "/v1/guard/api?group=ops"):
        with counted(site.database) as statements:
            assert ask(site, path, **token) is None
        assert len(statements) == 1
        assert "group_members" not in statements[0]


@pytest.mark.parametrize("path", ["/{}/ops", "/v1/guard/{}?group=ops"])
@pytest.mark.parametrize("guard", ["api", "web"])
def test_from_memory_only_members_pass_and_a_new_member_at_once(host_with, guard, path):
    site = host_with(build, guard_cache="60s")
    site.user(confirmed=True)
    headers = bearer(site.login(site.client())["access_token"]) if guard == "api" else {}
    sign_in(site)
    path = path.format(guard)
    assert ask(site, f"/v1/guard/{guard}", **headers) is None  # in memory now, without a group
    assert ask(site, path, **headers) == "group_required"
    label(site, "ops")
    assert ask(site, path, **headers) is None  # a refusal asks the database
    with counted(site.database) as statements:
        assert ask(site, path, **headers) is None
    assert statements == []
    label(site, None)
    if path == "/api/ops":  # what may change something asks the database
        site.http.post(path, headers=headers, status=403)
        assert ask(site, path, **headers) == "group_required"


def test_the_helpers_for_tests_of_a_host_add_a_user_to_groups(host_with):
    site = host_with(build)
    token = bearer_token(site.app, "ann@example.com", groups=["ops"])
    assert ask(site, "/api/ops", **bearer(token)) is None
    bearer_token(site.app, "ann@example.com", groups=["ops", "more"])  # once more
    assert ask(site, "/api/owner", **bearer(token)) == "group_required"
    browser = TestApp(site.app)
    browser.set_cookie(*session_cookie(site.app, "bo@example.com", groups=["authsite:owner"]))
    browser.get("/web/owner", headers=JSON, status=401)  # a member, but only with a password
    browser.get("/web/ops", headers=JSON, status=403)
