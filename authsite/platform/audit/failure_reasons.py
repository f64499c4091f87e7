"""Why a login failed, for the audit trail; `make reference` writes docs/audit.md from it."""

from .explained import Explained


class FailureReason(Explained):
    """Why a login failed: the detail `reason` of `login.failed`, which the caller is never told."""

    DENIED = "denied", "The password was right, but a further check of logins denied this one."
    DISABLED = "disabled", "An administrator has disabled the user."
    GROUP_MISSING = (
        "group_missing",
        "The password was right, but the client is for the members of a group, and the user is "
        "not one.",
    )
    LOCKED = (
        "locked",
        "The account was locked for some minutes after too many failed logins, so the password "
        "was not checked.",
    )
    UNCONFIRMED = "unconfirmed", "The password was right, but the e-mail address is not confirmed."
    UNKNOWN_NAME = "unknown_name", "No user has this login name."
    UNKNOWN_PASSKEY = "unknown_passkey", "No user has this passkey."
    WRONG_PASSKEY = (
        "wrong_passkey",
        "The use of the passkey was refused: see `check`.",
    )
    WRONG_PASSWORD = "wrong_password", "The password was wrong."
