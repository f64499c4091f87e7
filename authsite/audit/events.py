"""All audit events: their names, and what each means. docs/audit.md says when it is recorded."""

from typing import Literal, TypeAlias

EventName: TypeAlias = Literal[
    "audit.late_accepted",
    "client.changed",
    "client.created",
    "client.disabled",
    "client.enabled",
    "client.refused",
    "client.secret_retired",
    "client.secret_rotated",
    "database.exported",
    "database.restored",
    "email.change_asked",
    "email.change_canceled",
    "email.change_reverted",
    "email.changed",
    "form.foreign",
    "limit.exceeded",
    "login.closed",
    "login.disowned",
    "login.failed",
    "proxy.foreign_origin",
    "reauthentication.failed",
    "reauthentication.locked",
    "recovery.asked",
    "recovery.done",
    "recovery.refused",
    "secret.accepted",
    "secret.announced",
    "secret.resealed",
    "secret.retired",
    "secret.rotated",
    "session.begun",
    "session.ended",
    "token.created",
    "token.issued",
    "token.replayed",
    "token.reused",
    "token.revoked",
    "user.changed",
    "user.confirmed",
    "user.created",
    "user.disabled",
    "user.enabled",
    "user.erased",
    "user.exported",
    "user.others_signed_out",
    "user.password_changed",
    "user.signed_out",
    "verification.asked",
    "verification.refused",
]

FailureReason: TypeAlias = Literal[
    "denied",
    "disabled",
    "factor_missing",
    "locked",
    "unconfirmed",
    "unknown_name",
    "wrong_factor",
    "wrong_password",
]

# For the operator who reads the trail.
MEANINGS: dict[EventName, str] = {
    "audit.late_accepted": "An administrator accepted a seal of the audit trail that was made over "
    "an hour after its events.",
    "client.changed": "An administrator changed the name or the scopes of a client.",
    "client.created": "An administrator created a client.",
    "client.disabled": "An administrator disabled a client. Its tokens ended.",
    "client.enabled": "An administrator enabled a client.",
    "client.refused": "A client could not authenticate (401, invalid_client).",
    "client.secret_retired": "An administrator removed the former secret of a client.",
    "client.secret_rotated": "An administrator gave a client a new secret.",
    "database.exported": "An administrator exported all users, clients, sign-ins and events.",
    "database.restored": "An administrator restored a backup.",
    "email.change_asked": "A change of the e-mail address was requested. A link was mailed to the "
    "new one.",
    "email.change_canceled": "The pending change of the e-mail address was canceled.",
    "email.change_reverted": "The former e-mail address took the change back. All sign-ins ended.",
    "email.changed": "The e-mail address was changed. The sign-ins ended.",
    "form.foreign": "A form was rejected: it had no valid CSRF token, or came from another site.",
    "limit.exceeded": "A rate limit was exceeded. Until its window ends, what it counts is "
    "rejected (429), or not mailed.",
    "login.closed": "A failed login used up the attempts of the account. Further logins are "
    "rejected for some minutes (429).",
    "login.disowned": "A user ended all sign-ins with the mailed link: one was not the user's own.",
    "login.failed": "A login failed.",
    "proxy.foreign_origin": "A page of another site called a proxy endpoint and was rejected. "
    "Setting cors-origins lists the sites that may.",
    "reauthentication.failed": "A signed-in user gave a wrong current password.",
    "reauthentication.locked": "A wrong current password used up the attempts of the sign-in.",
    "recovery.asked": "A mail to reset a password was requested.",
    "recovery.done": "The password was reset with a mailed link. All sign-ins ended.",
    "recovery.refused": "A reset was rejected: the link is wrong, was used, or has expired.",
    "secret.accepted": "An administrator let the database know another secret or sealing key.",
    "secret.announced": "An administrator added a secret, pepper or sealing key that is accepted "
    "and not used yet.",
    "secret.resealed": "An administrator sealed all sealed values under the first sealing key.",
    "secret.retired": "An administrator removed the oldest secret, pepper or sealing key.",
    "secret.rotated": "An administrator made the new secret, pepper or sealing key the one that is "
    "used.",
    "session.begun": "The user signed in with a browser.",
    "session.ended": "A browser session ended.",
    "token.created": "The user created a personal access token.",
    "token.issued": "Tokens were issued.",
    "token.replayed": "A refresh token was used a second time within refresh-grace. The same "
    "tokens were returned.",
    "token.reused": "A refresh token was used a second time after refresh-grace. All tokens of "
    "that login were revoked: it may have been stolen.",
    "token.revoked": "A token was revoked.",
    "user.changed": "The profile was changed.",
    "user.confirmed": "The e-mail address was confirmed.",
    "user.created": "The user was created.",
    "user.disabled": "An administrator disabled the user. All sign-ins ended.",
    "user.enabled": "An administrator enabled the user.",
    "user.erased": "The user was deleted.",
    "user.exported": "What is stored about the user was exported, by the user or an administrator.",
    "user.others_signed_out": "All other sign-ins of the user were ended.",
    "user.password_changed": "The password was changed. The other sign-ins ended.",
    "user.signed_out": "An administrator ended all sign-ins of the user.",
    "verification.asked": "A link that confirms an e-mail address was requested.",
    "verification.refused": "A link that confirms an e-mail address was rejected: it was changed, "
    "or is for an address that the user no longer has.",
}

# Why a login failed: the detail `reason` of `login.failed`, which the caller is never told.
FAILURES: dict[FailureReason, str] = {
    "denied": "The password was right, but a further check of logins denied this one.",
    "disabled": "An administrator has disabled the user.",
    "factor_missing": "The password was right, but the user has to give a second proof, which the "
    "token endpoint does not take.",
    "locked": "The account was locked for some minutes after too many failed logins, so the "
    "password was not checked.",
    "unconfirmed": "The password was right, but the e-mail address is not confirmed.",
    "unknown_name": "No user has this login name.",
    "wrong_factor": "The password was right, but the second proof was wrong.",
    "wrong_password": "The password was wrong.",
}
