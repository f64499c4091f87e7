"""The model: everything that exists, who knows which password, and what the audit trail must have.

It is a list of `things`; what becomes of them is said by the steps, which change it.
"""

from collections import Counter

from .things import INTRUDER, OWNER, person_at


class Model:
    """Everything that exists, who knows which password, and what the audit trail must have."""

    def __init__(self):
        self.users, self.families, self.clients = [], [], {}
        self.known = {OWNER: set(), INTRUDER: set()}
        self.events = Counter()
        self.recognized = set()  # (user, person): logged in from the person's address
        self.spent = Counter()  # what was counted against a limit

    def forget(self, user):
        """A recovery, or an administrator's password: no address of the account is recognized."""
        self.recognized -= {(user, person) for person in (OWNER, INTRUDER)}

    def active_users(self):
        """The accounts that are not erased."""
        return [user for user in self.users if not user.erased]

    def user_at(self, address):
        """Whose login name ``address`` is."""
        return next((user for user in self.active_users() if user.email == address), None)

    def is_free(self, address, now, for_user=None):
        """Whether an account can get ``address``."""
        return not any(
            user.email == address or user.has_left(address, now)
            for user in self.active_users()
            if user is not for_user
        )

    def knows(self, person, user):
        """Whether a person knows the password of a user."""
        return user.password in self.known[person]

    def sign_ins(self):
        """All that ever were, of erased users too."""
        own = [each for each in self.families if each.user is None]
        return [*own, *(each for user in self.users for each in user.sign_ins)]

    def links(self, *kinds):
        """All of these kinds that were ever mailed."""
        return [link for user in self.users for link in user.links if link.kind in kinds]

    def rights_of_others(self, user, person, now):
        """What another person than ``person`` can still do with an account: should be nothing."""
        [other] = {OWNER, INTRUDER} - {person}
        return [
            *(each for each in user.sign_ins if not each.ended and other in each.holders),
            *(["the password"] if self.knows(other, user) else []),
            *(each for each in user.links if self._is_a_right(each, other, now)),
        ]

    def _is_a_right(self, link, person, now):
        """Not what merely proves the present address or signs out, nor what an older owner has."""
        takes = link.kind not in ("revert", "not-me") and link.proves != link.user.email
        return takes and person_at(link.address) == person and link.works(now)
