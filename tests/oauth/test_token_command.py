"""``authsite token show`` and ``revoke``: what an operator does with a token that was found."""

from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import update

from authsite.oauth.models import Client, Resource
from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.support.applications import resource
from tests.support.authorizing import OPENID, application, code_for, redeemed
from tests.support.in_process import Commands
from tests.support.personal import created

KEYS = {
    *("active", "reason", "active_for", "inactive_for", "user", "client", "audience", "session"),
    "expires_at",
}


@pytest.fixture
def commands(site, tmp_path):
    return Commands(site, tmp_path)


@pytest.fixture
def ann(site):
    return site.user()


@pytest.fixture
def keys(site, ann):
    return site.client(name="Shop")


def show(commands, token, *more):
    return commands.json("token", "show", "-", *more, stdin=f"{token}\n")


def change(site, model, **values):
    with site.db() as db:
        db.execute(update(model).values(**values))
        db.commit()


def test_every_kind_of_token_is_shown_with_its_user_client_and_expiry(site, commands, keys, ann):
    tokens = site.login(keys)
    for name in ("access_token", "refresh_token"):
        shown = show(commands, tokens[name])
        assert set(shown) == KEYS
        assert (shown["active"], shown["reason"]) == (True, None)
        assert (shown["user"], shown["client"]) == (str(ann.id), keys.client_id)
        assert shown["expires_at"].endswith("Z")
    personal = created(site, tokens["access_token"])
    shown = show(commands, personal)
    assert (shown["active"], shown["user"], shown["client"]) == (True, str(ann.id), None)
    robot = site.client("personal", name="Robot")
    of_client = site.token(robot, grant_type="client_credentials").json["access_token"]
    shown = show(commands, of_client)
    assert (shown["active"], shown["user"], shown["client"]) == (True, None, robot.client_id)


def test_people_read_whose_it_is(site, commands, keys):
    tokens = site.login(keys)
    text = commands.run("token", "show", "-", stdin=tokens["access_token"]).stdout
    for words in ("Access token", "ann@example.com", "Shop", "192.0.2.1", "active   yes"):
        assert words in text
    assert tokens["access_token"] not in text


def test_a_text_that_is_no_token_of_ours_is_status_1(site, commands, keys):
    token = site.login(keys)["access_token"]
    for text in ("", "at_x", "hello", token[:-1] + ("A" if token[-1] != "A" else "B")):
        for command in ("show", "revoke"):
            done = commands.run("token", command, "-", stdin=f"{text}\n", status=1)
            assert "not a token of this installation" in done.stderr


def test_a_token_is_no_argument_of_a_command(site, commands, keys):
    token = site.login(keys)["access_token"]
    done = commands.run("token", "show", token, stdin="", status=2)
    assert "others can see the arguments" in done.stderr
    assert token not in done.output


def test_a_dead_token_is_status_0_with_the_reason(site, commands, keys, frozen):
    tokens = site.login(keys)
    successor = site.refresh(keys, tokens["refresh_token"])
    assert show(commands, tokens["access_token"])["active"] is True  # within the grace
    frozen.advance(60)
    for name in ("access_token", "refresh_token"):
        assert "was refreshed since" in show(commands, tokens[name])["reason"]
        assert show(commands, successor[name])["active"] is True

    site.logout(successor["access_token"])
    assert "revoked at" in show(commands, successor["access_token"])["reason"]

    login = site.login(keys)["access_token"]
    change(site, User, epoch=User.epoch + 1)
    assert "sign-ins of the user were ended" in show(commands, login)["reason"]
    login = site.login(keys)["access_token"]
    change(site, Client, epoch=Client.epoch + 1)
    assert "tokens of the client were ended" in show(commands, login)["reason"]
    login = site.login(keys)["access_token"]
    change(site, Client, disabled_at=clock.now())
    assert "the client was disabled" in show(commands, login)["reason"]
    change(site, User, disabled_at=clock.now())
    assert "the user was disabled" in show(commands, login)["reason"]
    frozen.advance(timedelta(days=3651).total_seconds())
    with site.db() as db:
        db.query(User).delete()
        db.commit()
    shown = show(commands, login)
    assert "not in the database" in shown["reason"]
    assert (shown["active"], shown["user"], shown["client"]) == (False, None, None)


def test_an_expired_token_says_so(site_with, tmp_path, frozen):
    site = site_with(expires_in="5m")
    site.user()
    token = site.login(site.client())["access_token"]
    frozen.advance(301)
    assert show(Commands(site, tmp_path), token)["reason"] == "expired"


@pytest.mark.parametrize("which", ["access_token", "refresh_token", "old"])
def test_revoke_ends_the_login_and_is_recorded(site, commands, keys, which, frozen):
    """Also with an old token: a thief who has it may have its successors."""
    tokens = site.login(keys)
    found = tokens
    if which == "old":
        found = site.refresh(keys, tokens["refresh_token"])
        frozen.advance(60)
    text = tokens["access_token" if which == "old" else which]
    done = commands.run("token", "revoke", "-", stdin=text)
    assert "ann@example.com [not confirmed] is revoked" in done.stdout
    site.me(found["access_token"], status=401)
    site.refresh(keys, found["refresh_token"], status=400)
    with site.db() as db:
        event = db.query(AuditEvent).order_by(AuditEvent.id.desc()).first()
        assert (event.event, str(event.client_id)) == ("token.revoked", keys.client_id)
        assert event.details["why"] == "revoked by an administrator"
    count = site.events().count("token.revoked")
    again = commands.run("token", "revoke", "-", stdin=text)
    assert "ended already: revoked at" in again.stdout
    assert site.events().count("token.revoked") == count == 1


def test_revoke_ends_a_personal_token_alone(site, commands, keys):
    login = site.login(keys)["access_token"]
    one, other = created(site, login), created(site, login, name="other")
    shown = commands.json("token", "revoke", "-", stdin=one)
    assert set(shown) == KEYS
    assert (shown["active"], "revoked by an administrator" in shown["reason"]) == (False, True)
    site.me(one, status=401)
    site.me(other)
    site.me(login)


def test_an_unconfirmed_user_where_confirmation_is_required_is_a_reason(site, tmp_path, keys):
    token = site.login(keys)["access_token"]
    commands = Commands(site, tmp_path)
    with open(commands.ini, "a") as file:
        file.write("authsite.registration = domains\nauthsite.registration-domains = b.example\n")
    assert "has not confirmed" in show(commands, token)["reason"]


def test_the_resource_and_the_session_are_shown(site_with, tmp_path):
    """Of tokens that came from a code: the browser session; of a personal one: its own."""
    site = site_with(**OPENID)
    ann = site.user(confirmed=True)
    uri = "https://files.example.com/"
    with site.db() as db:
        db.add(Resource(id=uuid4(), uri=uri, created_at=clock.now(), updated_at=clock.now()))
    app, commands = application(site), Commands(site, tmp_path, **OPENID)
    code = code_for(site, app, resource=uri)
    tokens = redeemed(site, app, code)
    with site.db() as db:
        session = str(db.query(BrowserSession).filter_by(user_id=ann.id).one().id)
    for name in ("access_token", "refresh_token"):
        shown = show(commands, tokens[name])
        assert (shown["audience"], shown["session"]) == (uri, session)
    text = commands.run("token", "show", "-", stdin=tokens["access_token"]).stdout
    assert uri in text
    assert session in text
    login = site.login(site.client())["access_token"]
    assert (show(commands, login)["audience"], show(commands, login)["session"]) == (None, None)
    [family] = [each for each in site.families() if each.session_id is None]
    personal = show(commands, created(site, login))
    assert (personal["audience"], personal["session"]) == (None, str(family.id))


def test_a_sign_in_without_the_second_factor_that_is_required_now_is_inactive(
    site, tmp_path, keys, commands
):
    tokens = site.login(keys)
    later = Commands(site, tmp_path, second_factor="required")
    for name in ("access_token", "refresh_token"):
        shown = show(later, tokens[name])
        assert (shown["active"], "second factor" in shown["reason"]) == (False, True)
    personal = created(site, tokens["access_token"])
    assert show(later, personal)["active"] is True


class TestForWhom:
    """Each answer is what introspection says."""

    @pytest.fixture
    def site(self, site_with):
        made = site_with(**OPENID, scopes="notes:read")
        made.user(confirmed=True)
        made.server, made.other = made.client("resource-server"), made.client("resource-server")
        return made

    def told(self, commands, token):
        return show(commands, token)["active_for"], show(commands, token)["inactive_for"]

    def test_a_third_party_without_a_resource(self, site, commands):
        app = application(site, scope="notes:read")
        token = redeemed(site, app, code_for(site, app, scope="notes:read"))["access_token"]
        active, [inactive] = self.told(commands, token)
        assert (active, inactive["who"]) == (["its own client"], "resource servers")
        assert "for no resource" in inactive["why"]
        assert not site.introspect(site.server, token)["active"]
        said = commands.run("token", "show", "-", stdin=f"{token}\n").stdout
        assert "not for" in said
        assert "resource servers: it is that of a third party" in said

    def test_a_token_for_a_resource(self, site, commands):
        uri = resource(site, "https://api.example.org/", "notes:read", site.server)
        app = application(site, scope="notes:read")
        code = code_for(site, app, scope="notes:read", resource=uri)
        token = redeemed(site, app, code)["access_token"]
        active, [inactive] = self.told(commands, token)
        assert active == ["its own client", f"the resource server {site.server.client_id}"]
        assert inactive == {"who": "all other resource servers", "why": f"it is for {uri} alone"}
        assert site.introspect(site.server, token)["active"]
        assert not site.introspect(site.other, token)["active"]
        change(site, Resource, client_id=None)
        active, [inactive] = self.told(commands, token)
        assert (active, "has none" in inactive["why"]) == (["its own client"], True)
        commands.run("resource", "remove", uri)
        assert "not registered any more" in self.told(commands, token)[1][0]["why"]

    def test_other_tokens(self, site, commands):
        keys = site.client()
        tokens = site.login(keys)
        assert self.told(commands, tokens["access_token"]) == (
            ["its own client", "resource servers"],
            [],
        )
        active, [inactive] = self.told(commands, tokens["refresh_token"])
        assert (active, inactive["who"]) == (["its own client"], "resource servers")
        personal = created(site, tokens["access_token"])
        assert self.told(commands, personal)[0] == ["resource servers"]
        site.revoke(keys, tokens["access_token"])
        assert self.told(commands, tokens["access_token"]) == ([], [])
