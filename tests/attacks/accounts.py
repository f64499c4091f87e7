"""Steps: register; change the password, the address or the sign-ins; use the mailed links."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from .checks import LOCKED_AFTER, WRONG, addresses, numbers, people, pick
from .driver import BASE, cookie_of, signed_url
from .sign_ins import SignIns
from .things import INTRUDER, LINK, OWNER, Personal, Session, SignIn, User, person_at

VERIFY_PAGE, RESET_PAGE = f"{BASE}/email/verify", f"{BASE}/password/reset"
MAILED = 5  # `forgot-email` and `verification-email`
undone = st.sampled_from(["cancel", "revert"])
methods = st.sampled_from(["GET", "POST", "HEAD", "page", "page"])


class Accounts(SignIns):
    """Each step knows from the model what the answer must be."""

    @rule(address=addresses)
    def register(self, address):
        """Whoever registers knows the password: also an address that is another person's."""
        person = OWNER if self._passwords % 2 else INTRUDER
        password = self.new_password(person)
        body = {"email": address, "password": password, "verification_url": VERIFY_PAGE}
        answer = self.driver.send("POST", "/v1/register", person=person, body=body)
        free = self.model.is_free(address, self.now)
        assert answer.status_int == (201 if free else 422), answer.text
        if free:
            user = User(answer.json["id"], address, password)
            self.model.users.append(user)
            self.happened("user.created")
            self.deliver(user, (address, "verification"))

    # With a sign-in

    def _of(self, person, which, kinds=SignIn):
        """A sign-in that the person has, rightly or not, and the current password.

        The password is wrong unless the person knows it.
        """
        mine = [
            each for each in self.model.sign_ins()
            if each.user and person in each.holders and isinstance(each, kinds)
        ]  # fmt: skip
        sign_in = pick(mine, which)
        knows = sign_in is not None and self.model.knows(person, sign_in.user)
        return sign_in, sign_in.user.password if knows else WRONG

    def _act(self, person, sign_in, api, form):
        """Send a change: ``api`` is (method, path, body), ``form`` is (path, fields).

        Returns None if the sign-in was refused, as it must be.
        """
        if isinstance(sign_in, Session):
            return self._submit(person, sign_in, form)
        token = sign_in.token if isinstance(sign_in, Personal) else sign_in.last.access
        holder = sign_in if isinstance(sign_in, Personal) else sign_in.last
        method, path, body = api
        answer = self.driver.send(method, path, person=person, token=token, body=body)
        if not holder.opens(self.now):
            assert answer.status_int == 401
        elif isinstance(sign_in, Personal):
            assert answer.status_int == 403
        else:
            return answer
        return None

    def _submit(self, person, session, form):
        if (opens := session.opens(self.now)) is None:
            return None
        answer = self.driver.submit(*form, person=person, key=session.key)
        if opens:
            session.used = self.now
            return answer
        assert answer.status_int == 302
        assert "/login?next=" in answer.headers["Location"]
        return None

    def _passed(self, sign_in, password, answer):
        """Whether the current password was right; wrong ones are counted for the sign-in."""
        if answer.status_int == 429:
            assert sign_in.wrong >= LOCKED_AFTER
            return False
        if password == WRONG:
            assert answer.status_int == 422, answer.status
            sign_in.wrong += 1
        return password != WRONG

    def _renewed(self, sign_in, person, answer):
        """A session that stays has a new key, which only this browser has."""
        if isinstance(sign_in, Session):
            key = cookie_of(answer)
            assert key != sign_in.key
            self._old_keys.append(sign_in.key)
            sign_in.key, sign_in.holders = key, {person}

    @rule(person=people, which=numbers)
    def change_the_password(self, person, which):
        sign_in, current = self._of(person, which)
        if sign_in is None:
            return
        password = self.new_password(person)
        body = {"current_password": current, "password": password}
        api, form = ("PUT", "/v1/user/password", body), ("/account/password", body)
        answer = self._act(person, sign_in, api, form)
        if answer is None or not self._passed(sign_in, current, answer):
            return
        assert answer.status_int in (200, 303), answer.text
        user = sign_in.user
        user.set_password(password, "a new password", but=sign_in)
        self._renewed(sign_in, person, answer)
        self.happened("user.password_changed")
        self.deliver(user, (user.email, "password_changed"))

    @rule(person=people, which=numbers)
    def end_others(self, person, which):
        session, _ = self._of(person, which, Session)
        answer = session and self._submit(person, session, ("/account/sessions/end-others", {}))
        if answer:
            assert answer.status_int == 303
            session.user.end_sign_ins("others ended", but=session)
            self._renewed(session, person, answer)
            self.happened("user.others_signed_out")

    @rule(person=people, which=numbers, address=addresses)
    def request_another_address(self, person, which, address):
        sign_in, current = self._of(person, which)
        if sign_in is None:
            return
        fields = {"email": address, "current_password": current}
        body = {**fields, "verification_url": VERIFY_PAGE}
        api, form = ("PUT", "/v1/user/email", body), ("/account/email", fields)
        answer = self._act(person, sign_in, api, form)
        if answer is None or not self._passed(sign_in, current, answer):
            return
        user = sign_in.user
        if not self.model.is_free(address, self.now, for_user=user):
            assert answer.status_int == 422
            return
        assert answer.status_int in (202, 303), answer.text
        user.pending = (address, self.now + LINK)
        self.happened("email.change_requested")
        if address != user.email:
            to_new = [(address, "confirm_change")]
        else:
            to_new = [] if user.confirmed else [(address, "verification")]
        self.deliver(user, *to_new, (user.email, "email_changed"))

    @rule(person=people, which=numbers)
    def cancel_the_change(self, person, which):
        api, form = ("DELETE", "/v1/user/email/pending", None), ("/account/email/cancel", {})
        sign_in, _ = self._of(person, which)
        answer = sign_in and self._act(person, sign_in, api, form)
        if answer:
            assert answer.status_int in (204, 303)
            if sign_in.user.end_pending():
                self.happened("email.change_canceled")

    @rule(person=people, which=numbers)
    def delete_the_account(self, person, which):
        sign_in, current = self._of(person, which)
        body = {"current_password": current}
        if sign_in is None or (sign_in.user is self.ann and current != WRONG):
            return  # with the first account most of the story would end
        api, form = ("DELETE", "/v1/user", body), ("/account/delete", body)
        answer = self._act(person, sign_in, api, form)
        if answer and self._passed(sign_in, current, answer):
            assert answer.status_int in (204, 303)
            sign_in.user.erase()
            self.happened("user.erased")

    # With a mailed link: each was mailed to somebody, and is tried at any time

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
        """By whoever has the mail, also with another address beside the token."""
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
        session = pick([None, *self._sessions_of(person)], session) if method == "page" else None
        if session and session.opens(self.now) is None:
            return
        if method == "page":
            key = session.key if session else None
            answer = self.driver.submit("/email/verify", {"url": BASE + url},
                                        person=person, key=key)  # fmt: skip
        else:
            answer = self.driver.send(method, url, person=person)
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
        elif not self.model.is_free(link.proves, self.now, for_user=user):
            assert answer.status_int == 422
        else:
            assert answer.status_int == 200
            self._complete(link, stays, answer)

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
        """Delete the account that somebody registered with one's own address."""
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
