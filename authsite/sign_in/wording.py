"""What the login form says, by the kinds of login name that are enabled."""

from collections.abc import Sequence
from typing import NamedTuple

from authsite.platform.i18n import _


class Wording(NamedTuple):
    """The label of the field for the login name, and the messages for none and for a wrong one."""

    label: str
    missing: str
    wrong: str


_WORDINGS = {
    ("email",): Wording(
        _("E-mail address"),
        _("Enter your e-mail address."),
        _("The e-mail address or password is incorrect. Check both and try again."),
    ),
    ("username",): Wording(
        _("Username"),
        _("Enter your username."),
        _("The username or password is incorrect. Check both and try again."),
    ),
    ("phone",): Wording(
        _("Phone number"),
        _("Enter your phone number."),
        _("The phone number or password is incorrect. Check both and try again."),
    ),
    ("email", "username"): Wording(
        _("E-mail address or username"),
        _("Enter your e-mail address or username."),
        _("The e-mail address, username or password is incorrect. Check them and try again."),
    ),
    ("email", "phone"): Wording(
        _("E-mail address or phone number"),
        _("Enter your e-mail address or phone number."),
        _("The e-mail address, phone number or password is incorrect. Check them and try again."),
    ),
    ("phone", "username"): Wording(
        _("Username or phone number"),
        _("Enter your username or phone number."),
        _("The username, phone number or password is incorrect. Check them and try again."),
    ),
    ("email", "phone", "username"): Wording(
        _("E-mail address, username or phone number"),
        _("Enter your e-mail address, username or phone number."),
        _(
            "The e-mail address, username, phone number or password is incorrect. Check them and "
            "try again."
        ),
    ),
}


def wording(kinds: Sequence[str]) -> Wording:
    """The wording for the enabled ``kinds``."""
    return _WORDINGS[tuple(sorted(kinds))]
