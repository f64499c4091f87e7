"""The values that go through the protocol with a provider."""

import uuid
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple


class Purpose(StrEnum):
    """What a person goes to a provider for."""

    SIGN_IN = "sign-in"
    LINK = "link"
    CONFIRM = "confirm"


class Start(NamedTuple):
    """What a way to a provider began with; it comes back, sealed, with the return.

    ``session_id``: the browser session in which it began, for `Purpose.LINK` and
    `Purpose.CONFIRM`. ``next``: the checked page that a sign-in leads to. ``prompted``: the
    provider is asked to have the person prove again who they are.
    """

    purpose: Purpose
    remember: bool = False
    next: str | None = None
    session_id: uuid.UUID | None = None
    prompted: bool = False


class ProvidedIdentity(NamedTuple):
    """What a provider has told about a person, after all checks of its answer.

    ``subject`` identifies the person at ``issuer``; nothing else does. ``trusted``: whether the
    provider says that ``email`` is verified, and may say so (`trust-email`, authority over the
    domain). ``allowed``: whether the tenant and domain that it tells are among the setting's; None
    if it tells neither, and the address that was proved has to be asked. ``auth_time``: when the
    person proved to be who they are there; None if the provider does not tell.

    ``vouched``: whether the provider says now that the person has a verified address of its
    `domains`; true where it has none. ``doubt``: the `AddressDoubt`, why ``email`` is not proved.
    ``asked_scope``, ``answered_scope``: for the operator; a ``scope`` in the answer decides
    nothing, since each provider answers in its own words.
    """

    provider: str
    issuer: str
    subject: str
    email: str | None
    trusted: bool
    name: str | None
    allowed: bool | None = True
    auth_time: datetime | None = None
    vouched: bool = True
    doubt: str = ""
    asked_scope: str = ""
    answered_scope: str | None = None

    @property
    def scopes(self) -> dict[str, str]:
        """`scopes` of this return."""
        return scopes(self.asked_scope, self.answered_scope)


class Returned(NamedTuple):
    """A way to a provider that came back: what it began with, and whom the provider told."""

    start: Start
    provided: ProvidedIdentity


def scopes(asked: str, answered: str | None) -> dict[str, str]:
    """The details of an event: which scope was asked for, and what the provider answered."""
    return {"asked_scope": asked, **({"answered_scope": answered} if answered else {})}
