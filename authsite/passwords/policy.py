"""The password policy: one rule for every function that sets a password.

Registration, change, reset and the command line call it, so that all of them accept the same
passwords (OWASP ASVS 6.2.4, 6.2.11).
"""

from typing import NamedTuple, Protocol

from authsite.http.errors import FieldError, ValidationFailed
from authsite.settings import Settings

from . import strength
from .hashing import Passwords


class Person(Protocol):
    """A user, or the applicant of a registration: the names that a password must not contain."""

    @property
    def email(self) -> str: ...
    @property
    def username(self) -> str | None: ...
    @property
    def phone(self) -> str | None: ...
    @property
    def name(self) -> str | None: ...


class Applicant(NamedTuple):
    """The `Person` who registers."""

    email: str
    username: str | None
    phone: str | None
    name: str | None


# For the API documentation: the error of a password that is easy to guess.
WEAK = ValidationFailed(
    details=[FieldError("weak_password", "password", "This is a common word or name.")]
)


def weakness(
    cfg: Settings, passwords: Passwords, password: str, person: Person
) -> FieldError | None:
    """Why ``password`` is rejected for ``person``, as the error of the field, or None.

    The estimate takes CPU time, so it runs in the hash pool. Raises `HashCapacityExceeded`.
    """
    names = (person.email, person.username, person.phone, person.name)
    words = (cfg.site_name, *cfg.base_url, *names)
    min_length = cfg.password_min_length
    found = passwords.run(lambda: strength.find_weakness(password, min_length, words))
    return FieldError(found.code, "password", found.message) if found else None


def require_strong(cfg: Settings, passwords: Passwords, password: str, person: Person) -> None:
    """Raise `ValidationFailed` if ``password`` is rejected for ``person``; see `weakness`."""
    weak = weakness(cfg, passwords, password, person)
    if weak:
        raise ValidationFailed(details=[weak])
