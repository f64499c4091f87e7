"""What the machine compares after every step: each thing is accepted exactly as the model says."""

from collections import Counter
from contextlib import suppress
from urllib.parse import quote

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.stateful import RuleBasedStateMachine, invariant

from .driver import KINDS, family_id
from .model import Model
from .things import (
    ADDRESSES,
    INTRUDER,
    LINK,
    NOT_ME,
    OWNER,
    Client,
    Family,
    Link,
    Personal,
    Session,
    User,
)

people = st.sampled_from([OWNER, INTRUDER])
EVERY_ADDRESS = [address for own in ADDRESSES.values() for address in own]
addresses = st.sampled_from(EVERY_ADDRESS)
numbers = st.integers(0, 30)
BOTH = "a b"
WRONG = "this is not the password"
LOCKED_AFTER = 5  # `login-account` and `reauthentication`
FAR = 10_000  # days
# Denials, and what tells no change: an address may write such a row once an hour.
NOT_COUNTED = {
    "client.rejected", "form.cross_origin", "limit.exceeded", "login.locked", "login.failed",
    "proxy.cross_origin", "reauthentication.failed", "reauthentication.locked",
    "recovery.requested", "recovery.refused", "token.replayed", "verification.requested",
    "verification.refused",
}  # fmt: skip


def pick(things, number):
    """One of them: 0 is the latest. None if there are none."""
    return things[-1 - number % len(things)] if things else None


class Checks(RuleBasedStateMachine):
    """The first state, and the comparison with the model. ``driver`` is the application's."""

    driver = None
    steps = 0  # of all runs in this process

    def __init__(self):
        super().__init__()
        self.driver.begin()
        self.model, self._looked, self._passwords, self._old_keys = Model(), 0, 0, []
        site, password = self.driver.site, self.new_password(OWNER)
        ann = site.user(ADDRESSES[OWNER][0], password, confirmed=True)
        self.ann = User(str(ann.id), ann.email, password, confirmed=True)
        self.model.users.append(self.ann)
        for name in ("web", "other"):
            keys = site.client(scope=BOTH, default_scope=BOTH, name=name)
            self._add_client(name, keys, "password")
        # Its id is a user's: no comparison of ids may make it that user (CVE-2026-39976).
        self._add_client("machine", site.client_with_id(ann.id, "personal"), "personal")
        self.model.events = Counter(self.driver.counts()[0])

    def _add_client(self, name, keys, type_):
        self.model.clients[name] = Client(keys.client_id, keys.client_secret, type_)

    def teardown(self):
        """Look at everything once more, unless a step has failed."""
        try:
            if not self._failed:
                self.look_at(self.things())
        finally:
            self.driver.end()

    _failed = True  # till the invariants of the last step have held

    @property
    def now(self):
        return self.driver.now

    def say(self, *words):
        """One line of the story of a failure."""
        with suppress(InvalidArgument):  # outside of a test
            note("  # " + " ".join(str(word) for word in words))

    def new_password(self, person):
        """A password that no person has yet, and only ``person`` knows."""
        self._passwords += 1
        password = f"purple wolf {self._passwords} tea"
        self.model.known[person].add(password)
        return password

    def happened(self, *events):
        """The audit trail must have these."""
        self.model.events.update(events)

    def deliver(self, user, *expected, maybe=False):
        """Send the mails, which are those ``expected`` (address and kind); file their links.

        ``maybe``: over a limit there need not be any.
        """
        sent = self.driver.mails()
        got = sorted((address, kind) for address, kind, _ in sent if kind != "failed_logins")
        assert got == sorted(expected) or (maybe and not got), f"mails {got}, wanted {expected}"
        for address, _kind, links in sent:
            for kind, url in links.items():
                user.links.append(self._link(user, kind, address, url))

    def _link(self, user, kind, address, url):
        link = Link(kind, user, address, url, self.now + LINK)
        if kind == "verify":
            link.proves = address
        elif kind == "cancel":
            link.proves, link.expires = user.pending[0], self.now.replace(year=9999)
        elif kind == "revert":
            link.about = user.formers[-1]
            link.expires = link.about.expires
        elif kind == "not-me":
            link.mailed, link.expires = self.now, self.now + NOT_ME
        return link

    def address(self, number):
        """An address, mostly one of an account."""
        own = [user.email for user in self.model.active_users()]
        return pick([*EVERY_ADDRESS, *own, *own, *own], number)

    # Looking, which changes nothing

    @invariant()
    def the_model_holds(self):
        """Every change is recorded once; a family is one row; and two of the things are as said."""
        self._failed = True
        Checks.steps += 1
        self._compare_counts()
        things = self.things()
        for _ in range(min(2, len(things))):
            self._looked += 1
            self.look_at([things[self._looked % len(things)]])
        self._failed = False

    def _compare_counts(self):
        events, families = self.driver.counts()
        found = {name: count for name, count in events.items() if name not in NOT_COUNTED}
        wanted = {n: c for n, c in self.model.events.items() if c and n not in NOT_COUNTED}
        assert found == wanted, f"audit trail: {found}, wanted {wanted}"
        wanted = [each for each in self.model.sign_ins() if each.is_family]
        assert families == len(wanted), f"{families} families, wanted {len(wanted)}"

    def things(self):
        """Everything that was ever issued."""
        return [*self.model.sign_ins(), *self.model.links(*KINDS.values()), *self._old_keys]

    def look_at(self, things):
        """Whether each is accepted, in ways that use nothing up."""
        for thing in things:
            match thing:
                case Family():
                    for pair in thing.pairs[-3:]:
                        self._look_at_pair(pair)
                case Session():
                    self._look_at_session(thing)
                case Personal():
                    self._look_at_token(thing.token, thing, thing.opens(self.now), thing.scope)
                case Link():
                    self._look_at_link(thing)
                case str():
                    assert not self._is_session(thing), "an old key of a session is accepted"

    def look_at_account(self, user):
        """Everything of one account."""
        self.look_at([*user.sign_ins, *user.links])

    def _look_at_pair(self, pair):
        family = pair.family
        self._look_at_token(pair.access, family, pair.opens(self.now), family.scope)
        if family.client.enabled:
            active = self.driver.is_active(family.client, pair.refresh)
            assert active == pair.renews(self.now), f"refresh token: {active}; {family.ended}"

    def _look_at_token(self, token, owner, opens, scope):
        answer = self.driver.send("GET", "/v1/guard/api", token=token)
        assert answer.status_int == (204 if opens else 401), f"{answer.status}: {owner.ended}"
        if opens:
            user = owner.user
            identity = (user.id, user.email if user.confirmed else "") if user else ("", "")
            got = [answer.headers.get(f"X-Auth-{name}") for name in ("User", "Email", "Scope")]
            assert tuple(got[:2]) == identity, f"{got}, wanted {identity}"
            assert set((got[2] or "").split()) == set(scope.split())

    def _look_at_session(self, session):
        opens = session.opens(self.now)
        if opens is not None:
            assert self._is_session(session.key) == opens, f"session: {session.ended}"
            if opens:
                session.used = self.now

    def _is_session(self, key):
        answer = self.driver.send("GET", "/v1/guard/web", cookie=f"authsite={key}")
        assert answer.status_int in (204, 401)
        return answer.status_int == 204

    def _look_at_link(self, link):
        url = link.url
        if link.kind == "reset":  # with the present address, whatever it was mailed to
            url = url.replace(quote(link.address), quote(link.user.email))
        answer = self.driver.send("GET", url)
        asks = link.kind == "verify" and link.completes(self.now)  # who is signed in
        assert (answer.status_int == (303 if asks else 200)) == link.works(self.now), (
            f"{link.kind} link: {answer.status}; ended by {link.ended}"
        )

    # What several rules need

    def new_family(self, answer, user, client, person):
        """The family of a token response."""
        family = Family(
            family_id(answer["access_token"]), user, {person}, client=self.model.clients[client]
        )
        self.model.families.append(family)
        if user:
            user.sign_ins.append(family)
        return family

    def is_owned_alone_by(self, person, user):
        """The person who reset the password, or took a change back, alone has the account."""
        rights = self.model.rights_of_others(user, person, self.now)
        assert not rights, f"{person} does not own {user.email} alone: {rights}"
        self.look_at_account(user)
