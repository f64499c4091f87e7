"""What pages of an attacker can do to a signed-in user: nothing."""

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from tests.support import extent
from tests.support.endpoints import FORM, posts
from tests.support.mails import values_in
from tests.support.pages import csrf_of
from tests.support.site import PASSWORD, bearer
from tests.support.timing import best_of_five
from tests.support.world import ATTACKER, AUTH, EVIL

pytestmark = pytest.mark.slow

# The fields that a form of an attacker may have, with the password, which it should not know.
FIELDS = {
    "email": "taken-over@example.com",
    "name": "Mallory",
    "password": "a password of the attacker",
    "password_confirmation": "a password of the attacker",
    "current_password": PASSWORD,
    "grant_type": "password",
    "verification_url": f"https://{AUTH}/email/verify",
    "reset_url": f"https://{AUTH}/password/reset",
    "url": f"https://{AUTH}/v1/email/verify/1/2?expires=3&signature=4",
    "csrf_token": "0" * 64,
    "next": f"https://{ATTACKER}/",
}
# The usual run has the sibling, to which the browser sends the cookies of the same site, too.
HOSTS = [
    pytest.param(EVIL, id="a sibling"),
    *([pytest.param(ATTACKER, id="another site")] if extent.ALL else []),
]
FORM_TYPES = (FORM, "multipart/form-data", "text/plain")
NEW_PASSWORD = "green otter 31 rye"
SESSIONS = "/v1/user/sessions"
REFUSED = (400, 401, 403, 404, 415, 422)
LED_TO_GET = {"/oauth/authorize", "/oauth/logout"}  # applications on other sites send POSTs there
SEND = """([action, enctype, fields]) => {
    const form = document.createElement("form");
    Object.assign(form, { action, enctype, method: "post" });
    for (const [name, value] of Object.entries(fields)) {
        const input = document.createElement("input");
        form.append(Object.assign(input, { name, value, type: "hidden" }));
    }
    document.body.append(form);
    form.submit();
}"""
# A cookie of the attacker for the whole domain, in every way that a parser may misread.
TOSSED = [
    "x,{name}={value}", "x[{name}={value}", "x]{name}={value}", 'x"{name}={value}',
    "x\\{name}={value}", "x {name}={value}", "{name} ={value}", "x/{name}={value}",
    "{name}={value}", 'x="; {name}={value}', "={name}={value}", "{name}",
]  # fmt: skip

FOREIGN = {
    "not ASCII": "umlaut{number}=é",
    "a name that is not ASCII": "é{number}=1",
    "no name": "={number}",
    "long": "long{number}=" + "x" * 1600,
    "quoted": 'quoted{number}="a\\"; b',
}


class Signed:
    """A user who is signed in at the pages and at the web client; ``jar`` is for a browser."""

    def __init__(self, world):
        self.email = world.register()
        who = {"username": self.email, "password": PASSWORD}
        with world.client() as http:
            form = who | {"csrf_token": csrf_of(http.get("/login"))}
            answer = http.post("/login", data=form, headers={"Origin": f"https://{AUTH}"})
            assert answer.status_code == 303, answer.text
            assert http.post("/v1/clients/web/login", json=who).is_success
            self.jar = [
                {"name": each.name, "value": each.value, "domain": AUTH, "path": each.path,
                 "secure": True, "httpOnly": True,
                 "sameSite": "Strict" if "refresh" in each.name else "Lax"}
                for each in http.cookies.jar
            ]  # fmt: skip

    def cookie(self, name):
        """The value of a cookie."""
        return next(each["value"] for each in self.jar if each["name"] == name)


@pytest.fixture
def alice(world, watch):
    return Signed(world)


@pytest.fixture(scope="module")
def mallory(world):
    return Signed(world)


def test_no_post_route_is_forgotten(world, watch):
    with world.client() as http:
        described = http.get("/v1/openapi.json").json()["paths"]
    wanted = sum("post" in methods for methods in described.values())
    assert sum(path.startswith("/v1/") for path in posts()) == wanted > 5
    assert {"/login", "/logout", "/account/email", "/account/delete"} < set(posts())


@pytest.mark.control("S04")
@pytest.mark.control("S05")
@pytest.mark.parametrize("host", HOSTS)
def test_forms_of_a_foreign_page_change_nothing(world, new_context, alice, mallory, host):
    """Attack H5: a foreign form signed the web client in as the attacker."""
    context = new_context(AUTH, host, statuses=REFUSED)
    context.add_cookies(alice.jar)
    page, before = context.new_page(), cookies(context)
    with world.client() as http:
        who = {"username": alice.email, "password": PASSWORD}
        token = http.post("/v1/clients/web/login", json=who).json()["access_token"]
        look = [http.get(path, headers=bearer(token)) for path in ("/v1/user", SESSIONS)]
        account, sessions = (answer.json() for answer in look)
        for path in posts():
            logs_in = path.endswith(("/login", "/refresh"))
            fields = login_fields(mallory) if logs_in else FIELDS
            api = path.startswith("/v1/")
            for enctype in FORM_TYPES if api else FORM_TYPES[:1]:
                answer = send(page, host, path, enctype, fields)
                tried = f"{answer.status} from {path} ({enctype})"
                assert answer.status != 429, f"{tried}: not tried, then"
                if logs_in or not api:
                    assert refused(answer), tried
                assert not signs_in(answer), f"{tried} sets a cookie"
        assert cookies(context) == before
        assert http.get("/v1/user", headers=bearer(token)).json() == account
        after = http.get(SESSIONS, headers=bearer(token)).json()
        assert [each["id"] for each in after["sessions"]] == [
            each["id"] for each in sessions["sessions"]
        ]
    assert account_of(page) == alice.email
    page.goto(f"https://{AUTH}/app")
    page.locator("#account").get_by_text(alice.email).wait_for()


@pytest.mark.control("S02")
def test_a_cookie_of_a_sibling_signs_nobody_in(new_context, alice, mallory):
    """Attack M1: our names were found inside the names of other cookies."""
    key = mallory.cookie("__Host-authsite")
    for shape in TOSSED:
        context = new_context(AUTH, EVIL)
        context.add_cookies(alice.jar)
        page = context.new_page()
        page.goto(f"https://{EVIL}/")
        for name in ("__Host-authsite", "__Host-authsite-csrf", "__Host-device"):
            toss(page, shape.format(name=name, value=key))
        assert account_of(page) == alice.email, shape
        page.locator("summary", has_text=": Profile").click()
        form = page.locator("form[action$='/account/profile']")
        form.locator("[name=name]").fill(f"Alice {len(shape)}")
        form.locator("button").click()
        page.locator(".notice").wait_for()
        assert form.locator("[name=name]").input_value() == f"Alice {len(shape)}", shape
        context.close()


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_cookie_changes_nothing(new_context, alice, visitor, kind):
    """Attack M2: one that was not ASCII signed all users out, and none could sign in."""
    ann = visitor(AUTH, EVIL)
    ann.page.goto(f"https://{EVIL}/")
    for number in range(4):
        toss(ann.page, FOREIGN[kind].format(number=number))
    ann.go("/login")
    ann.sign_in(alice.email, PASSWORD)
    ann.at("/account")
    assert account_of(ann.page) == alice.email


def test_long_cookies_keep_nobody_else_waiting(world, watch):
    """Attack C2: a second of processor time for each of them."""
    shapes = ("a" * 7000, 'a="' + "b" * 7000, "=" * 7000, ";" * 7000, "a=b;" * 1700, "é" * 3500)
    headers = [{"Cookie": shape.encode()} for shape in shapes] * 4
    email = world.register()
    with world.client() as http, world.client() as victim, ThreadPoolExecutor(12) as pool:
        who = {"username": email, "password": PASSWORD}
        token = victim.post("/v1/clients/web/login", json=who).json()["access_token"]
        for _ in best_of_five(2):
            answers = [pool.submit(http.get, "/login", headers=header) for header in headers]
            assert victim.get("/v1/user", headers=bearer(token)).status_code == 200
        assert {answer.result().status_code for answer in answers} == {200}


def test_more_cookies_than_a_proxy_takes_are_no_error_of_the_server(world, watch):
    with world.client() as http:
        answer = http.get("/login", headers={"Cookie": "a=" + "b" * 16_000})
    assert answer.status_code in (400, 431)


@pytest.mark.control("F06")
def test_a_change_of_address_by_an_intruder_dies_with_a_reset(world, visitor):
    """Attack C1: its link handed the account over after the owner had chosen a new password."""
    email, mailbox = world.register(), visitor().mailbox
    stolen = f"stolen-{email}"
    with world.client() as intruder, world.client() as owner:
        who = {"username": email, "password": PASSWORD}
        token = intruder.post("/v1/clients/web/login", json=who).json()["access_token"]
        change = {"email": stolen, "current_password": PASSWORD,
                  "verification_url": f"https://{AUTH}/email/verify"}  # fmt: skip
        assert intruder.put("/v1/user/email", json=change, headers=bearer(token)).is_success
        link = mailbox.link(stolen, "/email/verify/")
        forgot = {"email": email, "reset_url": f"https://{AUTH}/password/reset"}
        owner.post("/v1/password/forgot", json=forgot)
        sent = values_in(owner.get(mailbox.link(email, "/password/reset/")).text)
        reset = {"email": email, "token": sent["token"], "password": NEW_PASSWORD}
        assert owner.post("/v1/password/reset", json=reset).status_code == 200
        assert intruder.get(link).status_code == 403
        who = {"username": email, "password": NEW_PASSWORD}
        token = owner.post("/v1/clients/web/login", json=who).json()["access_token"]
        user = owner.get("/v1/user", headers=bearer(token)).json()
    assert user["email"] == email


def account_of(page):
    """Whose account the browser is signed in to."""
    page.goto(f"https://{AUTH}/account")
    assert page.url == f"https://{AUTH}/account"
    return page.locator("section[aria-labelledby=email] strong").first.inner_text()


def toss(page, cookie, path="/"):
    """Set a cookie for every host of the domain."""
    page.evaluate("(cookie) => { document.cookie = cookie; }",
                  f"{cookie}; Domain=example.test; Path={path}; Secure")  # fmt: skip


def login_fields(user):
    """What signs ``user`` in at any of the logins, or renews the tokens."""
    return {"username": user.email, "password": PASSWORD,
            "refresh_token": user.cookie("refreshToken")}  # fmt: skip


def send(page, host, path, enctype, fields):
    """Submit a form from a page of ``host``, as its script does; the first answer."""
    page.goto(f"https://{host}/")
    with page.expect_navigation() as navigated:
        page.evaluate(SEND, [f"https://{AUTH}{path}", enctype, fields])
    request = navigated.value.request
    while request.redirected_from:
        request = request.redirected_from
    assert request.method == "POST"
    return request.response()


def refused(answer):
    """Whether the answer is an error, or leads a stranger to the login page.

    Or leads to the GET of the same page, where that is how a POST of another site is answered.
    """
    location = answer.headers.get("location", "")
    path = urlsplit(answer.url).path
    to_get = answer.status == 303 and path in LED_TO_GET and urlsplit(location).path == path
    return answer.status in REFUSED or to_get or (answer.status == 302 and "/login?" in location)


def signs_in(answer):
    """Whether the answer sets a cookie that stands for a user."""
    found = answer.headers_array()
    set_cookies = [each["value"] for each in found if each["name"].lower() == "set-cookie"]
    return [each for each in set_cookies if "csrf" not in each.partition("=")[0]]


def cookies(context):
    """The cookies that stand for a user."""
    return {each["name"]: each["value"] for each in context.cookies() if "csrf" not in each["name"]}
