"""Steps: ask for the links that are mailed, and use them at any time."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from .accounts import Accounts
from .checks import addresses, numbers, pick
from .driver import BASE, signed_url
from .things import INTRUDER, OWNER, Personal, Session, person_at

RESET_PAGE = f"{BASE}/password/reset"
MAILED = 5  # `forgot-email` and `verification-email`
undone = st.sampled_from(["cancel", "revert"])
methods = st.sampled_from(["GET", "POST", "HEAD", "page", "page"])


class Mailed(Accounts):
    """Each link was mailed to a person, and is tried at any time."""

    @rule(person=st.sampled_from([OWNER, INTRUDER, None]), which=numbers,
          times=st.sampled_from([1, 1, 6]))  # fmt: skip
    def ask_for_a_reset_link(self, person, which, times):
        address = self.address(which)
        for _ in range(times):
            body = {"email": address, "reset_url": RESET_PAGE}
            answer = self.driver.send("POST", "/v1/password/forgot", person=person, body=body)
            assert answer.status_int == 202, answer.text
            user = self.model.user_at(address)
            own = person if (user, person) in self.model.recognized else None
            counter = ("forgot", address, own)
            self.model.spent[counter] += bool(user and user.enabled)
            mailed = user is not None and user.enabled
            wanted = [(address, "reset")] if mailed else []
            self.deliver(user, *wanted, maybe=self.model.spent[counter] > MAILED)

    @rule(which=numbers, beside=st.sampled_from(["mailed", "mailed", "present", "another"]),
          address=addresses)  # fmt: skip
    def reset_the_password(self, which, beside, address):
        """By the person who has the mail, also with another address beside the token."""
        link = pick(self.model.links("reset"), which)
        if link is None:
            return
        person, user = person_at(link.address), link.user
        password, token = self.new_password(person), link.url.partition("token=")[2]
        email = {"mailed": link.address, "present": user.email, "another": address}[beside]
        body = {"email": email, "token": token, "password": password}
        answer = self.driver.send("POST", "/v1/password/reset", person=person, body=body)
        works = link.works(self.now) and email == user.email
        assert answer.status_int == (200 if works else 422), f"{answer.text} {link.ended}"
        if works:
            user.set_password(password, "a reset")
            user.links_ended[user.email] = self.now
            self.model.forget(user)
            self.model.recognized.add((user, person))
            for own in (person, None):
                self.model.spent["login", user, own] = 0
            self.happened("recovery.done")
            self.deliver(user, (user.email, "password_changed"))
            self.is_owned_alone_by(person, user)

    @rule(which=numbers, method=methods, session=numbers)
    def follow_a_verification_link(self, which, method, session):
        link = pick(self.model.links("verify"), which)
        if link is None:
            return
        url, user, person = signed_url(link.url), link.user, person_at(link.address)
        number = session
        session = pick([None, *self._sessions_of(person)], number) if method == "page" else None
        if session and session.opens(self.now) is None:
            return
        if method == "page":
            key = session.key if session else None
            answer = self.driver.submit("/email/verify", {"url": BASE + url},
                                        person=person, key=key)  # fmt: skip
        else:
            holder = self._token_of(person, number) if method != "HEAD" else None
            token = holder and (holder if isinstance(holder, Personal) else holder.last)
            text = holder and (holder.token if isinstance(holder, Personal) else token.access)
            answer = self.driver.send(method, url, person=person, token=text)
            allowed = holder is not None and holder.user is user and token.opens(self.now)
            may_complete = allowed and not isinstance(holder, Personal)
        if method == "HEAD":
            assert answer.status_int == (200 if self.now < link.expires else 403)
            return
        stays = session if session and session.user is user and session.opens(self.now) else None
        if session and session.opens(self.now):
            session.used = self.now
        if not link.works(self.now):
            assert answer.status_int == 403, f"{answer.status}; {link.ended}"
        elif not link.completes(self.now):
            assert answer.status_int == 200
            if not user.confirmed:
                user.confirmed = True
                self.happened("user.confirmed")
                self.deliver(user, (user.email, "welcome"))
        elif method == "page" and not stays:
            signed_in = session is not None and session.opens(self.now)
            assert answer.status_int == (200 if signed_in else 303)
        elif method != "page" and not may_complete:
            assert answer.status_int == 401
        elif not self.model.is_free(link.proves, self.now, for_user=user):
            assert answer.status_int == 422
        else:
            assert answer.status_int == 200
            self._complete(link, stays, answer)

    def _token_of(self, person, which):
        """A sign-in of an application that the person has, or None."""
        mine = [
            each for each in self.model.sign_ins()
            if each.user and person in each.holders and not isinstance(each, Session)
        ]  # fmt: skip
        return pick([None, *mine], which)

    def _complete(self, link, stays, answer):
        user, old = link.user, link.user.email
        user.leave_address(self.now)
        user.change_address(link.proves, "another address", but=stays)
        if stays:
            self._renewed(stays, person_at(link.address), answer)
        self.happened("email.changed")
        self.deliver(user, (old, "email_replaced"))

    @rule(which=numbers, kind=undone)
    def undo_a_change(self, which, kind):
        """By the link that the former or present address got."""
        link = pick(self.model.links(kind), which)
        if link is None:
            return
        works, user, person = link.works(self.now), link.user, person_at(link.address)
        token = link.url.partition("token=")[2]
        answer = self.driver.submit(f"/email/change/{kind}", {"token": token}, person=person)
        assert answer.status_int == (200 if works else 403), f"{answer.status}; {link.ended}"
        if not works:
            return
        if kind == "cancel":
            user.end_pending()
            self.happened("email.change_canceled")
            return
        removed = user.email
        del user.formers[user.formers.index(link.about) :]
        user.set_password(None, "taken back")
        user.change_address(link.about.address, "taken back")
        user.links_ended[user.email] = self.now
        self.model.forget(user)
        self.model.recognized.add((user, person))
        self.happened("email.change_reverted")
        notice = [(removed, "email_replaced")] if removed != user.email else []
        self.deliver(user, (user.email, "reset"), *notice)
        self.is_owned_alone_by(person, user)

    @rule(which=numbers)
    def disown_an_account(self, which):
        """Delete the account that another person registered with one's own address."""
        link = pick(self.model.links("verify"), which)
        if link is None:
            return
        person, user = person_at(link.address), link.user
        form = {"url": BASE + signed_url(link.url)}
        answer = self.driver.submit("/email/verify/disown", form, person=person)
        works = link.works(self.now) and not link.completes(self.now) and not user.confirmed
        assert answer.status_int == (200 if works else 403)
        if works:
            user.erase()
            self.happened("user.erased")
