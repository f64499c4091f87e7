"""Why a login failed, for the audit trail; `make reference` writes docs/audit.md from it."""

from authsite.platform.denied_requests.reason import DenialReason, Texts
from authsite.platform.i18n import _
from authsite.platform.rate_limit.errors import TooManyAttempts

WRONG_NAME = "wrong"
"""Stands for what the login form says of a wrong name and a wrong password: `Wording.wrong`."""
_PASSKEY = _(
    "This passkey is not known here, or needs your password once. Sign in with your password."
)
_UNIFORM = "Every wrong name, password and disabled user has this same answer: show it as it is."


def _row(
    name: str,
    meaning: str,
    person: str = f"${{{WRONG_NAME}}}",
    developer: str = _UNIFORM,
    error: str = "invalid_credentials",
    status: int = 422,
) -> Texts:
    return Texts(name, error, meaning, person, developer, status, in_answer=False)


class FailureReason(DenialReason):
    """Why a login failed: the detail `reason` of `login.failed`, which the caller is never told."""

    DENIED = _row(
        "denied",
        "The password was right, but a further check of logins denied this one.",
        _("You cannot sign in at the moment. Ask the people who run this site."),
        "A check that was added with config.add_account_condition denied the login. What it raised "
        "is the answer.",
        "denied",
    )
    DISABLED = _row("disabled", "An administrator has disabled the user.")
    GROUP_MISSING = _row(
        "group_missing",
        "The password was right, but the client is for the members of a group, and the user is "
        "not one.",
        _(
            "Your account may not use this application. Ask the people who run this site for "
            "access."
        ),
        "The login was right, and the client is for the members of a group: another login of this "
        "user ends the same way until an administrator adds the user to the group.",
        "group_required",
        400,
    )
    LOCKED = _row(
        "locked",
        "The account was locked for some minutes after too many failed logins, so the password "
        "was not checked.",
        TooManyAttempts.message,
        "Wait for as long as the header Retry-After says. Until then no password is checked, also "
        "not the right one. Do not repeat a login by program.",
        TooManyAttempts.code,
        TooManyAttempts.status,
    )
    UNCONFIRMED = _row(
        "unconfirmed",
        "The password was right, but the e-mail address is not confirmed.",
        _("Confirm your e-mail address first: open the link in our e-mail, or request a new one."),
        "With prevent-enumeration the answer is that of a wrong password, and the user gets a mail "
        "with the link. Offer a way to request it again.",
        "email_not_confirmed",
        400,
    )
    UNKNOWN_NAME = _row("unknown_name", "No user has this login name.")
    UNKNOWN_PASSKEY = _row("unknown_passkey", "No user has this passkey.", _PASSKEY)
    WRONG_PASSKEY = _row(
        "wrong_passkey", "The use of the passkey was refused: see `check`.", _PASSKEY
    )
    WRONG_PASSWORD = _row("wrong_password", "The password was wrong.")
