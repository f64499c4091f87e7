"""What was issued, and until when it is accepted: without what the application compares for that.

A sign-in, a token or a link is accepted until it expires or an event ends it. An event marks what
it ends. The time is given by the caller.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

OWNER, INTRUDER = "owner", "intruder"
ADDRESSES = {
    OWNER: ("ann@example.com", "ann@example.org"),
    INTRUDER: ("eve@example.com", "eve@example.org"),
}
GRACE = timedelta(seconds=10)
ACCESS, REFRESH = timedelta(minutes=10), timedelta(days=1)
PERSONAL = timedelta(days=7)
IDLE, SESSION, REMEMBERED = timedelta(hours=12), timedelta(days=30), timedelta(days=90)
LINK, REVERT, NOT_ME = timedelta(minutes=60), timedelta(hours=72), timedelta(days=3)
HOUR = timedelta(hours=1)


def person_at(address):
    """The person who reads the mails to ``address``."""
    return next(person for person, own in ADDRESSES.items() if address in own)


@dataclass(eq=False)
class Client:
    """An OAuth client."""

    id: str
    secret: str
    type: str
    enabled: bool = True


@dataclass(eq=False)
class SignIn:
    """A token family, a browser session or a personal access token; ``user`` None: the client's.

    ``holders``: the persons who have it, rightly or not. ``ended``: by what. ``revoked``: whether
    that ended it alone. ``wrong``: wrong current passwords given with it.
    """

    id: str
    user: "User | None"
    holders: set
    ended: str | None = None
    revoked: bool = False
    wrong: int = 0

    @property
    def is_family(self):
        """Whether it is a row of the token families."""
        return not isinstance(self, Session | Personal) and not (self.user and self.user.erased)


@dataclass(eq=False)
class Family(SignIn):
    """``pairs``: of generation 0, 1, …; ``rescoped``: the last refresh changed the scope."""

    client: Client = None
    scope: str = ""
    pairs: list = field(default_factory=list)
    rescoped: bool = False

    @property
    def last(self):
        """The present pair."""
        return self.pairs[-1]


@dataclass(eq=False)
class Pair:
    """The tokens of one generation; ``made``: when."""

    family: Family
    number: int
    access: str
    refresh: str
    scope: str
    made: datetime

    def is_present(self, now):
        """Whether it is the last pair, or the one before within the grace."""
        last = self.family.last
        return self is last or (self.number == last.number - 1 and now - last.made < GRACE)

    def opens(self, now):
        """Whether the access token is accepted."""
        replaced = self is not self.family.last and self.family.rescoped
        fresh = now < self.made + ACCESS
        return not self.family.ended and fresh and not replaced and self.is_present(now)

    def is_renewable(self, now):
        """Whether the refresh token is one of an active family, used or not."""
        return not self.family.ended and now < self.made + REFRESH

    def renews(self, now):
        """Whether the refresh token gets a pair."""
        return self.is_renewable(now) and self.is_present(now)


@dataclass(eq=False)
class Session(SignIn):
    """A browser session; ``key`` is the value of its cookie."""

    key: str = ""
    remember: bool = False
    begun: datetime = None
    used: datetime = None

    def opens(self, now):
        """Whether it is accepted. None: it may be, as a use is noted to the hour."""
        if self.ended or now >= self.begun + (REMEMBERED if self.remember else SESSION):
            return False
        if self.remember or now - self.used < IDLE - HOUR:
            return True
        return None if now - self.used < IDLE else False


@dataclass(eq=False)
class Personal(SignIn):
    """A personal access token; ``family``: in which it was created."""

    family: Family = None
    token: str = ""
    scope: str = "a"
    made: datetime = None

    def opens(self, now):
        """Whether it is accepted."""
        return not self.ended and now < self.made + PERSONAL


@dataclass(eq=False)
class Link:
    """A mailed link: ``verify``, ``cancel``, ``revert``, ``reset`` or ``not-me``.

    ``proves``: the address that a ``verify`` link proves, or the pending one that a ``cancel`` link
    is about. ``about``: the `Former` of a ``revert`` link.
    ``url`` is the path and query of its page.
    """

    kind: str
    user: "User"
    address: str
    url: str
    expires: datetime
    proves: str = ""
    about: object = None
    ended: str | None = None
    mailed: datetime = None

    def works(self, now):
        """Whether the link has an effect, or would have one the first time."""
        user = self.user
        if self.ended or not user.is_active or now >= self.expires:
            return False
        if self.kind == "verify":
            return self.proves == user.email or self.completes(now)
        if self.kind == "cancel":
            return user.pending is not None and self.proves == user.pending_at(now)
        if self.kind == "revert":
            return self.about in user.formers
        if self.kind == "not-me":
            serves = self.address == user.email or user.has_left(self.address, now)
            ended = user.links_ended.get(self.address)
            return serves and (ended is None or ended < self.mailed)
        return True

    def completes(self, now):
        """Whether a ``verify`` link changes the address."""
        return self.proves != self.user.email and self.proves == self.user.pending_at(now)


@dataclass(eq=False)
class Former:
    """A confirmed address that was replaced; no other person can take it until it expires."""

    address: str
    expires: datetime


@dataclass(eq=False)
class User:
    """An account. ``pending``: a requested address, and when its link expires."""

    id: str
    email: str
    password: str | None
    confirmed: bool = False
    enabled: bool = True
    erased: bool = False
    logged_in: bool = False
    pending: tuple | None = None
    sign_ins: list = field(default_factory=list)
    links: list = field(default_factory=list)
    formers: list = field(default_factory=list)
    links_ended: dict = field(default_factory=dict)  # address -> when its "not-me" links ended
    disowned: bool = False  # a "not-me" link has ended the sign-ins, and nothing has since then

    @property
    def is_active(self):
        """Whether the account can be used."""
        return self.enabled and not self.erased

    def pending_at(self, now):
        """The pending address, if its link has not expired."""
        return self.pending[0] if self.pending and now < self.pending[1] else None

    def has_left(self, address, now):
        """Whether a change from ``address`` to another can be taken back."""
        return any(each.address == address and now < each.expires for each in self.formers)

    def end_pending(self):
        """End the pending change; return whether there was one."""
        had, self.pending = self.pending is not None, None
        return had

    def end_sign_ins(self, why, but=None):
        """End all sign-ins but one, and the pending change with the links that cancel it."""
        for each in self.sign_ins:
            if each is not but:
                each.ended = each.ended or why
        self.end_pending()
        self.end_links("cancel", why)
        self.disowned = False

    def end_links(self, kind, why):
        """End all links of a kind."""
        for each in self.links:
            if each.kind == kind:
                each.ended = each.ended or why

    def set_password(self, password, why, but=None):
        """A new password (None: an unusable one) ends sign-ins and reset links."""
        self.password = password
        self.end_sign_ins(why, but)
        self.end_links("reset", why)

    def change_address(self, address, why, but=None):
        """Another, confirmed address ends sign-ins and reset links."""
        self.email, self.confirmed = address, True
        self.end_sign_ins(why, but)
        self.end_links("reset", why)

    def leave_address(self, now):
        """A completed change keeps the confirmed address, unless it returns to a former one."""
        returns = [
            number
            for number, each in enumerate(self.formers)
            if each.address == self.pending[0] and now < each.expires
        ]
        if returns:
            del self.formers[returns[0] + 1 :]
            return
        self.links_ended[self.pending[0]] = now
        if self.confirmed:
            self.formers.append(Former(self.email, now + REVERT))

    def erase(self):
        """The account is deleted."""
        self.erased, self.formers = True, []
        self.end_sign_ins("erased")
        for each in self.sign_ins:
            each.revoked = True  # there is no row any more
