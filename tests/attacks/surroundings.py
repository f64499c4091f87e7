"""Steps: the clock, administrators, theft, and callers without any credential."""

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from authsite.users import service as users
from authsite.verification import email_change

from .checks import LOCKED_AFTER, WRONG, addresses, numbers, pick
from .mailed import MAILED, Mailed
from .things import ADDRESSES, INTRUDER, OWNER, Family, Personal, Session

MINUTE, HOUR, DAY = 60, 3600, 86400
changes = st.sampled_from(["disable", "enable", "sign out", "password", "confirm", "address"])
waits = st.sampled_from(
    [1, 1, 1, 9, 9, 10, 11, 11, MINUTE, 11 * MINUTE, 61 * MINUTE, 13 * HOUR, 2 * DAY, 31 * DAY]
)
ANN = -1  # picks the first account
times = st.sampled_from([1, 6])


class Surroundings(Mailed):
    """Events that no signed-in user causes."""

    @initialize(used=st.booleans())
    def start_with_what_was_issued(self, used):
        """In half of the runs the owner, and a person with the password, use the account."""
        if not used:
            return
        self.register(ADDRESSES[INTRUDER][0])
        self.model.known[INTRUDER].add(self.ann.password)
        for person in (OWNER, INTRUDER):
            self.log_in(person, ANN, "web")
            self.log_in_with_a_browser(person, ANN, False, 0)
        self.ask_for_a_reset_link(OWNER, ANN, 1)
        self.request_another_address(INTRUDER, 0, ADDRESSES[INTRUDER][1])

    @rule(seconds=waits)
    def wait(self, seconds):
        self.driver.frozen.advance(seconds)

    @rule(change=changes, which=numbers, address=addresses)
    def administer_a_user(self, change, which, address):
        user = pick(self.model.active_users(), which)
        if user is None:
            return
        act = self.driver.act
        if change == "disable":
            act(users.disable, user.id)
            if user.enabled:  # else nothing changes
                user.end_sign_ins("disabled")
                user.end_links("reset", "disabled")
                self.happened("user.disabled")
            user.enabled = False
        elif change == "enable":
            act(users.enable, user.id)
            if not user.enabled:  # else nothing changes
                self.happened("user.enabled")
            user.enabled = True
        elif change == "sign out":
            act(users.sign_out, user.id)
            user.end_sign_ins("signed out")
            self.happened("user.signed_out")
        elif change == "confirm":
            act(users.confirm, user.id)
            if not user.confirmed:
                self.happened("user.confirmed")
            user.confirmed = True
        elif change == "password":
            password = self.new_password(OWNER)
            self.driver.set_password(user.id, password)
            user.set_password(password, "an administrator's password")
            self.model.forget(user)
            self.happened("user.password_changed")
        elif self.model.is_free(address, self.now, for_user=user):
            self._set_address(user, address)

    def _set_address(self, user, address):
        self.driver.act(lambda ctx, row: email_change.set_address(ctx, row, address), user.id)
        noticed = [(user.email, "email_replaced")] if user.confirmed and user.enabled else []
        user.formers.clear()
        user.change_address(address, "an administrator's address")
        user.links_ended[address] = self.now
        self.happened("email.changed")
        self.deliver(user, *noticed)

    @rule(name=st.sampled_from(["web", "machine"]))
    def administer_a_client(self, name):
        client = self.model.clients[name]
        client.enabled = not client.enabled
        self.driver.set_client(client.id, enabled=client.enabled)
        self.happened("client.enabled" if client.enabled else "client.disabled")
        if not client.enabled:
            for family in self.model.families:
                if family.client is client:
                    family.ended = family.ended or "client disabled"
            for token in self.model.sign_ins():
                if isinstance(token, Personal) and token.family.client is client:
                    token.ended = token.ended or "client disabled"

    @rule(which=numbers)
    def steal_a_password(self, which):
        user = pick([each for each in self.model.active_users() if each.password], which)
        if user:
            self.model.known[INTRUDER].add(user.password)

    @rule(which=numbers)
    def steal_a_sign_in(self, which):
        stolen = [each for each in self.model.sign_ins() if isinstance(each, Family | Session)]
        if stolen:
            pick(stolen, which).holders.add(INTRUDER)

    @rule(which=numbers, times=times)
    def guess_passwords(self, which, times):
        """By a caller without any credential."""
        address = self.address(which)
        user = self.model.user_at(address)
        for _ in range(times):
            form = {"grant_type": "password", "username": address, "password": WRONG}
            answer = self.driver.token(self.model.clients["other"], **form)
            if answer.status_int == 429:
                assert self.model.spent["login", user or address, None] >= LOCKED_AFTER
            else:
                assert answer.status_int == 400
                self.model.spent["login", user or address, None] += 1

    @rule(which=numbers, times=times)
    def ask_for_verification_links(self, which, times):
        """By a caller without any credential."""
        address = self.address(which)
        for _ in range(times):
            answer = self.driver.submit("/email/link", {"email": address}, person=None)
            assert answer.status_int == 303
            user = self.model.user_at(address)
            mailed = user is not None and user.enabled and not user.confirmed
            self.model.spent["link", address] += mailed
            over = self.model.spent["link", address] > MAILED
            self.deliver(user, *([(address, "verification")] if mailed else []), maybe=over)

    @rule(which=numbers, secret=st.booleans())
    def guess_at_tokens(self, which, secret):
        """A wrong secret, or a token with another family's id, changes nothing."""
        family = pick(self.model.families, which)
        if family is None:
            return
        client, token = family.client, family.last.refresh
        if not secret:
            client = type(client)(client.id, "x" * 43, client.type)
        else:
            token = f"{token[:-4]}AAAA"
        answer = self.driver.token(client, grant_type="refresh_token", refresh_token=token)
        assert answer.status_int == (400 if secret and client.enabled else 401)
