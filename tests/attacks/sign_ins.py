"""Steps: log in, refresh, log out, revoke; tokens of clients; personal access tokens."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from .checks import BOTH, LOCKED_AFTER, WRONG, Checks, numbers, people, pick
from .driver import cookie_of
from .things import Pair, Personal, Session, person_at

scopes = st.sampled_from(["", "a", "a b", "a c"])


class SignIns(Checks):
    """Each step knows from the model what the answer must be."""

    @rule(person=people, which=numbers, client=st.sampled_from(["web", "web", "other"]))
    def log_in(self, person, which, client):
        address, user, password = self._credentials(person, which)
        answer = self.driver.token(
            self.model.clients[client], person=person,
            grant_type="password", username=address, password=password,
        )  # fmt: skip
        if not self.model.clients[client].enabled:
            assert answer.status_int == 401
            return
        is_new = self._is_new_device(person, user)
        if self._logged_in(answer, 200, person, address, user, password):
            family = self.new_family(answer.json, user, client, person)
            self._add_pair(family, answer.json, BOTH)
            self.happened("token.issued")
            self._notify(user, is_new)

    def _is_new_device(self, person, user):
        """Whether a login is one that a confirmed user is told of: not the first one."""
        known = (user, person) in self.model.recognized
        return user is not None and user.confirmed and user.logged_in and not known

    def _notify(self, user, is_new):
        user.logged_in = True
        mails = [(user.email, "new_device")] if is_new else []
        self.deliver(user, *mails)

    @rule(person=people, which=numbers, remember=st.booleans(), former=numbers)
    def log_in_with_a_browser(self, person, which, remember, former):
        address, user, password = self._credentials(person, which)
        old = pick([None, *self._sessions_of(person)], former)
        fields = {"username": address, "password": password}
        fields |= {"remember": "1"} if remember else {}
        answer = self.driver.submit("/login", fields, person=person, key=old.key if old else None)
        is_new = self._is_new_device(person, user)
        if not self._logged_in(answer, 303, person, address, user, password):
            return
        key = cookie_of(answer)
        id_ = self.driver.session_id(key)
        goes_on = old.opens(self.now) if old and old.user is user else False
        assert (bool(old) and old.id == id_) in ({True, False} if goes_on is None else {goes_on})
        if old and old.id == id_:  # a reauthentication
            self._old_keys.append(old.key)
            old.key, old.holders, old.remember = key, {person}, remember
            old.begun = old.used = self.now
        else:
            if old and not old.revoked:
                self._revoke(old, "replaced", "session.ended")
            user.sign_ins.append(
                Session(id_, user, {person}, key=key, remember=remember, begun=self.now,
                        used=self.now)
            )  # fmt: skip
        self.happened("session.begun")
        self._notify(user, is_new)

    def _credentials(self, person, which):
        """A login name, its user and a password: mostly one that the person knows."""
        known = [user for user in self.model.active_users() if self.model.knows(person, user)]
        user = pick([*self.model.users, *known, *known, *known], which)
        return user.email, self.model.user_at(user.email), user.password if user in known else WRONG

    def _logged_in(self, answer, good, person, address, user, password):
        """Whether a login succeeded, as it must; failures are counted."""
        right = user is not None and user.is_active and password == user.password
        own = person if (user, person) in self.model.recognized else None
        counter = ("login", user or address, own)
        if answer.status_int == 429:
            assert self.model.spent[counter] >= LOCKED_AFTER, f"{person} may try: {counter}"
            return False
        assert (answer.status_int == good) == right, answer.status
        if right:
            self.model.recognized.add((user, person))
        else:
            self.model.spent[counter] += 1
        return right

    def _sessions_of(self, person):
        return [
            each
            for each in self.model.sign_ins()
            if isinstance(each, Session) and person in each.holders
        ]

    def _add_pair(self, family, answer, scope):
        pair = Pair(family, len(family.pairs), answer["access_token"], answer["refresh_token"],
                    scope, self.now)  # fmt: skip
        family.pairs.append(pair)
        family.scope = scope

    def _revoke(self, sign_in, why, *events):
        sign_in.ended, sign_in.revoked = sign_in.ended or why, True
        self.happened(*events)

    @rule(which=numbers, generation=st.integers(0, 2), right=st.integers(0, 4), scope=scopes)
    def refresh(self, which, generation, right, scope):
        family = pick(self.model.families, which)
        if family is None:
            return
        pair = pick(family.pairs[-3:], generation)
        client = family.client if right else self.model.clients["other"]
        answer = self.driver.token(
            client, grant_type="refresh_token", refresh_token=pair.refresh, scope=scope
        )
        self.say(f"generation {pair.number} of {family.last.number}: {answer.status}")
        status, error = answer.status_int, answer.json.get("error")
        granted = family.pairs[0].scope
        if not client.enabled:
            assert (status, error) == (401, "invalid_client")
        elif client is not family.client or not pair.is_renewable(self.now):
            assert (status, error) == (400, "invalid_grant")
        elif pair is family.last and not set(scope.split()) <= set(granted.split()):
            assert (status, error) == (400, "invalid_scope")
        elif pair is family.last:
            assert status == 200, error
            before = family.scope
            self._add_pair(family, answer.json, scope or granted)
            family.rescoped = set(family.scope.split()) != set(before.split())
        elif pair.is_present(self.now):
            assert status == 200, error
            assert answer.json["access_token"] == family.last.access
            assert answer.json["refresh_token"] == family.last.refresh
        else:
            assert (status, error) == (400, "invalid_grant")
            self._revoke(family, "reuse", "token.reused")
            if family.user and family.user.confirmed:
                self.deliver(family.user, (family.user.email, "app_signed_out"))

    @rule(which=numbers, generation=st.integers(0, 1))
    def log_out(self, which, generation):
        family = pick(self.model.families, which)
        if family is None:
            return
        pair = pick(family.pairs, generation)
        answer = self.driver.send("DELETE", "/v1/logout", token=pair.access)
        opens = pair.opens(self.now)
        assert answer.status_int == (200 if opens else 401)
        if opens:
            self._revoke(family, "logout", "token.revoked")

    @rule(which=numbers)
    def log_out_with_a_browser(self, which):
        session = pick([s for s in self.model.sign_ins() if isinstance(s, Session)], which)
        if session is None or (opens := session.opens(self.now)) is None:
            return
        answer = self.driver.submit("/logout", {}, person=None, key=session.key)
        assert answer.status_int == 303
        if opens:
            self._revoke(session, "logout", "session.ended")

    @rule(which=numbers, refresh=st.booleans(), right=st.integers(0, 3))
    def revoke(self, which, refresh, right):
        family = pick(self.model.families, which)
        if family is None:
            return
        client = family.client if right else self.model.clients["other"]
        form = {"client_id": client.id, "client_secret": client.secret,
                "token": family.last.refresh if refresh else family.last.access}  # fmt: skip
        answer = self.driver.send("POST", "/v1/oauth/revoke", form=form)
        assert answer.status_int == (200 if client.enabled else 401)
        if client.enabled and client is family.client and not family.revoked:
            self._revoke(family, "revocation", "token.revoked")

    @rule()
    def get_a_token_of_a_client(self):
        client = self.model.clients["machine"]
        answer = self.driver.token(client, grant_type="client_credentials")
        assert answer.status_int == (200 if client.enabled else 401)
        if client.enabled:
            self._add_pair(self.new_family(answer.json, None, "machine", None), answer.json, "")
            self.happened("token.issued")

    @rule(which=numbers, path=st.sampled_from(["/v1/user", "/v1/user/sessions"]))
    def use_a_token_of_a_client(self, which, path):
        """It belongs to no user, whatever its client's id is."""
        family = pick([each for each in self.model.families if each.user is None], which)
        if family:
            answer = self.driver.send("GET", path, token=family.last.access)
            assert answer.status_int == (403 if family.last.opens(self.now) else 401)

    @rule(person=people, which=numbers)
    def create_a_personal_token(self, person, which):
        families = [each for each in self.model.families if each.user and person in each.holders]
        family = pick(families, which)
        if family is None or not self.model.knows(person, user := family.user):
            return
        body = {"name": "backup", "scope": "a", "expires_in": "7d",
                "current_password": user.password}  # fmt: skip
        answer = self.driver.send("POST", "/v1/user/tokens", token=family.last.access, body=body)
        if not family.last.opens(self.now):
            assert answer.status_int == 401
        elif family.wrong >= LOCKED_AFTER and answer.status_int == 429:
            return
        elif "a" not in family.scope.split():
            assert answer.status_int == 422
        else:
            assert answer.status_int == 201, answer.text
            token = answer.json["token"]
            made = Personal(
                answer.json["id"], user, {person}, family=family, token=token, made=self.now
            )
            user.sign_ins.append(made)
            self.happened("token.created")
            self.deliver(user, (user.email, "token_created"))

    @rule(which=numbers, other=numbers)
    def revoke_a_personal_token(self, which, other):
        """Of one's own account, not of another's."""
        family = pick([each for each in self.model.families if each.user], which)
        token = pick([s for s in self.model.sign_ins() if isinstance(s, Personal)], other)
        if family is None or token is None:
            return
        path = f"/v1/user/tokens/{token.id}"
        answer = self.driver.send("DELETE", path, token=family.last.access)
        if not family.last.opens(self.now):
            assert answer.status_int == 401
        elif token.user is family.user and token.opens(self.now):
            assert answer.status_int == 204
            self._revoke(token, "revoked", "token.revoked")
        else:
            assert answer.status_int == 404

    @rule(which=numbers, other=numbers)
    def end_one(self, which, other):
        """One sign-in, by its id; another user's, or a personal token, is not found (IDOR)."""
        family = pick([each for each in self.model.families if each.user], which)
        other = pick(self.model.sign_ins(), other)
        if family is None:
            return
        path = f"/v1/user/sessions/{other.id}"
        answer = self.driver.send("DELETE", path, token=family.last.access)
        own = other.user is family.user and not other.revoked and not isinstance(other, Personal)
        if not family.last.opens(self.now):
            assert answer.status_int == 401
        elif not own:
            assert answer.status_int == 404
        else:
            assert answer.status_int == 204
            event = "session.ended" if isinstance(other, Session) else "token.revoked"
            self._revoke(other, "ended", event)
            for token in family.user.sign_ins:
                if isinstance(token, Personal) and token.family is other and token.opens(self.now):
                    self._revoke(token, "ended with its session", "token.revoked")
            if other is not family:
                family.user.end_pending()

    @rule(which=numbers)
    def say_it_was_not_me(self, which):
        """With the link in the notice of a login, which ends all sign-ins, and the recognition."""
        link = pick(self.model.links("not-me"), which)
        if link is None:
            return
        works, token = link.works(self.now), link.url.partition("token=")[2]
        answer = self.driver.submit("/login/not-me", {"token": token}, person=None)
        assert answer.status_int == (200 if works else 403), link.ended
        if works and not link.user.disowned:
            link.user.password = None
            link.user.end_sign_ins("it was not me")
            link.user.disowned = True
            self.model.forget(link.user)
            self.happened("login.disavowed")

    @rule(which=numbers)
    def choose_a_password(self, which):
        """With the same link, after its button was pressed."""
        link = pick(self.model.links("not-me"), which)
        if link is None:
            return
        user, person = link.user, person_at(link.address)
        works = link.works(self.now) and user.disowned
        password = self.new_password(person)
        form = {"token": link.url.partition("token=")[2], "password": password}
        answer = self.driver.submit("/login/not-me/password", form, person=person)
        assert answer.status_int == (200 if works else 403), link.ended
        if not works:
            return
        user.set_password(password, "chosen")
        user.links_ended[link.address] = self.now
        self.model.forget(user)
        self.model.recognized.add((user, person))
        for own in (person, None):
            self.model.spent["login", user, own] = 0
        self.happened("recovery.done")
        self.deliver(user, (user.email, "password_changed"))
        if user.email == link.address:
            self.is_owned_alone_by(person, user)
