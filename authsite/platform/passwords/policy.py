"""The password policy: one rule for every function that sets a password.

Registration, change, reset and the command line call it, so that all of them accept the same
passwords (OWASP ASVS 6.2.4, 6.2.11). Pages show what it says of a password while it is typed (NIST
SP 800-63B-4, section 3.1.1.2: guidance in choosing a strong password).
"""

from typing import NamedTuple, Protocol

from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.i18n import _
from authsite.platform.settings import Settings

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


class Rating(NamedTuple):
    """A password as a page shows it: ``level`` is 1 (rejected), 2 (fair) or 3 (strong)."""

    level: int
    message: str


_TOO_EASY = _("Too easy to guess: it will be refused. Try four unrelated words.")
_BREACHED = _("This password has appeared in a data breach. Choose another.")
_FAIR, _STRONG = _("Fair. Longer is stronger."), _("Strong.")


def weakness(
    cfg: Settings, passwords: Passwords, password: str, person: Person
) -> FieldError | None:
    """Why ``password`` is rejected for ``person``, as the error of the field, or None.

    The estimate takes CPU time, so it runs in the hash pool. With `password-breach-check` a service
    is asked about a password that is not easy to guess; call this before the request has a
    transaction, and before the hash. Raises `HashCapacityExceeded`.
    """
    found = passwords.run(lambda: _judge(cfg, password, person)).weakness
    if found:
        return FieldError(found.code, "password", found.message)
    if cfg.password_breach_check is None:
        return None
    from . import breaches  # late: few sites need the HTTP client

    breached = breaches.is_breached(cfg.password_breach_check, password)
    return FieldError("weak_password", "password", _BREACHED) if breached else None


def rate(cfg: Settings, passwords: Passwords, password: str, person: Person) -> Rating:
    """What `weakness` would say of ``password``, for a page; nothing of it is kept.

    Raises `HashCapacityExceeded`; see `Passwords.estimate`.
    """
    found, guesses = passwords.estimate(lambda: _judge(cfg, password, person))
    if found:
        return Rating(1, found.message if guesses is None else _TOO_EASY)
    strong = guesses is not None and guesses >= strength.STRONG_GUESSES
    return Rating(3, _STRONG) if strong else Rating(2, _FAIR)


def require_strong(cfg: Settings, passwords: Passwords, password: str, person: Person) -> None:
    """Raise `ValidationFailed` if ``password`` is rejected for ``person``; see `weakness`."""
    weak = weakness(cfg, passwords, password, person)
    if weak:
        raise ValidationFailed(details=[weak])


def _judge(cfg: Settings, password: str, person: Person) -> strength.Judgement:
    names = (person.email, person.username, person.phone, person.name)
    words = (cfg.site_name, *cfg.base_url, *names)
    return strength.judge(password, cfg.password_min_length, words)
