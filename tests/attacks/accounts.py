"""Steps: register; change the password, the address or the sign-ins."""

from hypothesis.stateful import rule

from .checks import LOCKED_AFTER, WRONG, addresses, numbers, people, pick
from .driver import BASE, cookie_of
from .sign_ins import SignIns
from .things import INTRUDER, LINK, OWNER, Personal, Session, SignIn, User

VERIFY_PAGE = f"{BASE}/email/verify"


class Accounts(SignIns):
    """Each step knows from the model what the answer must be."""

    @rule(address=addresses)
    def register(self, address):
        """A person who registers knows the password, also for the address of another person."""
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
