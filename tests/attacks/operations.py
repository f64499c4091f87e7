"""Operations on one account, each with what it needs, for every pair of them to meet.

The account is set up once, with two of everything, and restored before each run: tokens, cookies
and links are bound to the rows, and the clock stands still.
"""

from dataclasses import dataclass, field

from sqlalchemy import select

from authsite.platform.db.base import Base
from authsite.sign_in.sessions.models import BrowserSession
from authsite.sign_in.sessions.service import key_hash
from authsite.users import service as users

from .driver import BASE, cookie_of, signed_url
from .things import Client

OLD, PRESENT, NEW = "ann@example.com", "ann@example.org", "ann@example.net"
PASSWORD = "correct horse battery"


@dataclass
class Account:
    """The account, and what was issued for it, by name."""

    driver: object
    id: str = ""
    client: Client = None
    tokens: dict = field(default_factory=dict)  # access and refresh tokens
    sessions: dict = field(default_factory=dict)
    links: dict = field(default_factory=dict)
    listed: dict = field(default_factory=dict)  # ids of the second sign-ins, by kind
    rows: dict = field(default_factory=dict)

    def log_in(self, password=PASSWORD):
        """The password grant."""
        form = {"grant_type": "password", "username": PRESENT, "password": password}
        return self.driver.token(self.client, **form)

    def log_in_with_a_browser(self):
        """The login page."""
        fields = {"username": PRESENT, "password": PASSWORD}
        return self.driver.submit("/login", fields, person=None)

    def call(self, method, path, **body):
        """With the first access token."""
        return self.driver.send(method, path, token=self.tokens["one"]["access"], body=body)

    def form(self, path, **fields):
        """With the first browser session."""
        return self.driver.submit(path, fields, person=None, key=self.sessions["one"])

    def renew(self, **more):
        """The refresh token grant, with the first refresh token."""
        token = self.tokens["one"]["refresh"]
        return self.driver.token(
            self.client, grant_type="refresh_token", refresh_token=token, **more
        )

    def reset(self, link, password):
        """With a mailed link."""
        token = self.links[link].partition("token=")[2]
        body = {"email": PRESENT, "token": token, "password": password}
        return self.driver.send("POST", "/v1/password/reset", body=body)

    def undo(self, kind):
        """With the link that the present or former address got."""
        fields = {"token": self.links[kind].partition("token=")[2]}
        return self.driver.submit(f"/email/change/{kind}", fields, person=None)

    def administer(self, work):
        """A command, which finds no user after a deletion; there is no answer."""
        self.driver.act(lambda ctx, user: work(ctx, user) if user else None, self.id)

    def accepted(self):
        """The names of all that is accepted now, and what the account is like."""
        found = {name for name, pair in self.tokens.items() if self._opens(pair["access"])}
        found |= {
            f"{name} refreshes"
            for name, pair in self.tokens.items()
            if "refresh" in pair and self.driver.is_active(self.client, pair["refresh"])
        }
        found |= {f"browser {name}" for name, key in self.sessions.items() if self._signed_in(key)}
        found |= {
            f"{name} link"
            for name, url in self.links.items()
            if self.driver.send("GET", url).status_int == (303 if name == "verify" else 200)
        }
        return found

    def _opens(self, token):
        return self.driver.send("GET", "/v1/guard/api", token=token).status_int == 204

    def _signed_in(self, key):
        answer = self.driver.send("GET", "/v1/guard/web", cookie=f"authsite={key}")
        return answer.status_int == 204

    def save(self):
        """Keep every row."""
        with self.driver.site.database.autocommit.connect() as connection:
            self.rows = {
                table: [dict(row) for row in connection.execute(table.select()).mappings()]
                for table in Base.metadata.sorted_tables
            }

    def restore(self):
        """Every row as it was kept."""
        with self.driver.site.database.transactional.begin() as connection:
            for table in reversed(Base.metadata.sorted_tables):
                connection.execute(table.delete())
            for table, rows in self.rows.items():
                if rows:
                    connection.execute(table.insert(), rows)


def set_up(driver):
    """An account with two of everything, a pending change, and one that can be taken back."""
    driver.begin()
    keys = driver.site.client(scope="a b", default_scope="a b")
    account = Account(driver, client=Client(keys.client_id, keys.client_secret, "password"))
    account.id = str(driver.site.user(OLD, PASSWORD, confirmed=True).id)
    first = {"grant_type": "password", "username": OLD, "password": PASSWORD}
    account.tokens["one"] = pair_of(driver.token(account.client, **first))
    change = {"current_password": PASSWORD, "verification_url": f"{BASE}/email/verify"}
    account.call("PUT", "/v1/user/email", email=PRESENT, **change)
    links = _links(driver)
    answer = account.call("GET", signed_url(links["verify"]))
    assert answer.status_int == 200
    account.links["revert"] = _links(driver)["revert"]
    for name in ("one", "two"):
        account.tokens[name] = pair_of(account.log_in())
        account.sessions[name] = cookie_of(account.log_in_with_a_browser())
        forgot = {"email": PRESENT, "reset_url": f"{BASE}/password/reset"}
        driver.send("POST", "/v1/password/forgot", body=forgot)
        account.links[f"reset {name}"] = _links(driver)["reset"]
    body = {"name": "backup", "current_password": PASSWORD}
    made = account.call("POST", "/v1/user/tokens", **body).json
    account.tokens["personal"] = {"access": made["token"]}
    account.call("PUT", "/v1/user/email", email=NEW, **change)
    account.links |= _links(driver)
    assert len(account.links) == 5
    account.listed = second_sign_ins(account)
    account.save()
    assert len(account.accepted()) == 12, account.accepted()
    return account


def second_sign_ins(account):
    """The ids of the second token family and the second browser session."""
    path, driver = "/v1/user/sessions", account.driver
    found = driver.send("GET", path, token=account.tokens["two"]["access"]).json["sessions"]
    with driver.site.db() as db:
        own = BrowserSession.key_hash == key_hash(account.sessions["two"])
        browser = str(db.scalar(select(BrowserSession.id).where(own)))
    return {"app": next(each["id"] for each in found if each["current"]), "browser": browser}


def pair_of(answer):
    """The tokens of a response; {} if it is none."""
    if answer is None or "json" not in (answer.content_type or "") or not answer.body:
        return {}
    names = {"access_token": "access", "refresh_token": "refresh", "token": "access"}
    return {name: answer.json[key] for key, name in names.items() if key in answer.json}


def _links(driver):
    return {kind: url for _, _, links in driver.mails() for kind, url in links.items()}


# Each is one request, or what a command does. ``side`` tells the two requests of a pair apart.
CALLS = {
    "refresh": lambda a, side: a.renew(),
    "refresh with a scope": lambda a, side: a.renew(scope="a"),
    "revoke": lambda a, side: a.driver.send(
        "POST", "/v1/oauth/revoke",
        form={"client_id": a.client.id, "client_secret": a.client.secret,
              "token": a.tokens["one"]["refresh"]}),
    "log in": lambda a, side: a.log_in(),
    "log in with a browser": lambda a, side: a.log_in_with_a_browser(),
    "end others": lambda a, side: a.form("/account/sessions/end-others"),
    "end a browser": lambda a, side: a.call(
        "DELETE", f"/v1/user/sessions/{a.listed['browser']}"),
    "end an app": lambda a, side: a.form(f"/account/sessions/{a.listed['app']}/end"),
    "log out": lambda a, side: a.call("DELETE", "/v1/logout"),
    "log out in the browser": lambda a, side: a.form("/logout"),
    "change the password": lambda a, side: a.call(
        "PUT", "/v1/user/password", current_password=PASSWORD, password=f"purple wolf {side} tea"),
    "change it in the browser": lambda a, side: a.form(
        "/account/password", current_password=PASSWORD, password=f"purple wolf {side} tea"),
    "create a token": lambda a, side: a.call(
        "POST", "/v1/user/tokens", name="new", current_password=PASSWORD),
    "request an address": lambda a, side: a.call(
        "PUT", "/v1/user/email", email=f"{side}@example.com", current_password=PASSWORD,
        verification_url=f"{BASE}/email/verify"),
    "complete the change": lambda a, side: a.driver.submit(
        "/email/verify", {"url": BASE + signed_url(a.links["verify"])}, person=None,
        key=a.sessions["one"]),
    "cancel by link": lambda a, side: a.undo("cancel"),
    "take back": lambda a, side: a.undo("revert"),
    "reset": lambda a, side: a.reset("reset one", f"green otter {side} rye"),
    "register": lambda a, side: a.driver.send(
        "POST", "/v1/register", body={"email": NEW, "password": PASSWORD}),
    "delete": lambda a, side: a.call("DELETE", "/v1/user", current_password=PASSWORD),
    "sign out": lambda a, side: a.administer(users.sign_out),
    "disable": lambda a, side: a.administer(users.disable),
}  # fmt: skip
# The rows that each writes, and those that it merely relies on.
FAMILY, SESSION, USER, ADDRESS = "family", "session", "user", "address"
ENDS = ({USER, FAMILY, SESSION}, set())
ROWS = {
    "refresh": ({FAMILY}, {USER}),
    "refresh with a scope": ({FAMILY}, {USER}),
    "revoke": ({FAMILY}, set()),
    "log in": (set(), {USER}),
    "log in with a browser": (set(), {USER}),
    "create a token": (set(), {USER, FAMILY}),
    "request an address": ({USER}, {FAMILY}),
    "cancel by link": ({USER}, set()),
    "end a browser": ({SESSION}, {FAMILY}),
    "end an app": ({FAMILY}, {SESSION}),
    "log out": ({FAMILY}, set()),
    "log out in the browser": ({SESSION}, set()),
    "complete the change": ({USER, FAMILY, SESSION, ADDRESS}, set()),
    "register": ({ADDRESS}, set()),
}


def meeting(name):
    """The operations that write a row which ``name`` needs, or need one that it writes."""
    writes, needs = ROWS.get(name, ENDS)
    return [
        other
        for other in CALLS
        for others, needed in [ROWS.get(other, ENDS)]
        if writes & (others | needed) or others & needs
    ]
