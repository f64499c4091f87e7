"""Errors of wrong passwords."""

from collections.abc import Sequence

from authsite.platform.addresses import shown_domain
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.i18n import _

from .wording import wording


class WrongCredentials(ValidationFailed):
    """Wrong name, wrong password or a disabled user; the audit row of the failure is kept."""

    keeps_writes = True

    def __init__(self, kinds: Sequence[str]) -> None:
        """``kinds``: the login names that are enabled."""
        message = wording(kinds).wrong
        super().__init__(details=[FieldError("invalid_credentials", None, message)])


class WrongCurrentPassword(ValidationFailed):
    """The current password is wrong (reauthentication); the audit row of the failure is kept."""

    keeps_writes = True

    def __init__(self, others: Sequence[FieldError] = ()) -> None:
        """``others``: the errors of the other fields."""
        message = _("This is not your current password. Enter it again.")
        wrong = FieldError("invalid_password", "current_password", message)
        super().__init__(details=[wrong, *others])


class DomainNotAllowed(ValidationFailed):
    """`registration = domains`, and the e-mail address is of another domain."""

    def __init__(self, domains: Sequence[str] = ("corp.example",)) -> None:
        """``domains``: those that are allowed."""
        super().__init__(details=[FieldError("not_allowed", "email", domains_message(domains))])


def domains_message(domains: Sequence[str]) -> str:
    """Which addresses are allowed."""
    names = ", ".join(map(shown_domain, domains))
    if len(domains) == 1:
        return _("Use an e-mail address that ends with @${domain}.", mapping={"domain": names})
    message = _("Use an e-mail address of one of these domains: ${domains}.")
    return _(message, mapping={"domains": names})
