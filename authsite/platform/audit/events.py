"""All audit events, each with what it means. `make reference` writes docs/audit.md from them."""

from enum import StrEnum
from typing import Self

_CHECK = "`check`, one of [these](#why-a-passkey-was-refused), `sent` and `expected`"
_BY = "[`actor`](#the-actor); `reason` if one was given"
_IF_ADMINISTRATOR = "[`actor`](#the-actor) and `reason` if an administrator did it"
_OF_GROUP = f"`group`; {_BY}"
_MEMBERS = "`members`: their number then"
_OF_INVITATION = f"`invitation`; `name`: hash of the address; `group` if it is to one; {_BY}"
_OF_PROVIDER = "`provider`; `subject` (hash)"
_WITH_SCOPES = f"{_OF_GROUP}; `scopes`: those that the group binds now"


class Event(StrEnum):
    """The name of an event, with its ``meaning`` and the ``details`` of its row, in Markdown."""

    meaning: str
    details: str

    def __new__(cls, name: str, meaning: str, details: str = "") -> Self:
        made = str.__new__(cls, name)
        made._value_ = name
        made.meaning, made.details = meaning, details
        return made

    ADMIN_GRANTED = (
        "admin.granted",
        "The user was made an administrator: a member of a reserved group.",
        _OF_GROUP,
    )
    ADMIN_REVOKED = (
        "admin.revoked",
        "The user was removed from a reserved group of administrators.",
        _OF_GROUP,
    )
    AUDIT_EXPORTED = (
        "audit.exported",
        "An administrator got events of the audit trail as a file.",
        "`filters` if there were any; [`actor`](#the-actor)",
    )
    AUDIT_LATE_ACCEPTED = (
        "audit.late_accepted",
        "An administrator accepted a seal of the audit trail that was made over an hour after its "
        "events.",
        "`seal`, `mac`, `reason`, `proof`",
    )
    AUTHORIZATION_DENIED = (
        "authorization.denied",
        "The user did not allow an application what it asked for.",
    )
    AUTHORIZATION_GRANTED = (
        "authorization.granted",
        "An application got a code for the user.",
        "`scope`, `session`; `code_challenge`, of a client that can do without: `sent` or `none`",
    )
    AUTHORIZATION_REFUSED = (
        "authorization.refused",
        "An authorization request was refused.",
        "`reason`, one of [these](#why-an-authorization-request-was-refused); `error`: what the "
        "application is told; `parameter`; `sent`, and of a redirect URI `nearest` (registered) "
        "and `differs`",
    )
    BROWSER_FORGOTTEN = (
        "browser.forgotten",
        "An administrator had all browsers forgotten that are not asked for a second factor.",
        _BY,
    )
    BROWSER_REMEMBERED = (
        "browser.remembered",
        "The user wants not to be asked for a second factor again in this browser for a time.",
    )
    CLIENT_CHANGED = (
        "client.changed",
        "An administrator changed a client.",
        _BY,
    )
    CLIENT_CREATED = (
        "client.created",
        "An administrator created a client.",
        f"{_BY}; `source`, `source_id` if imported",
    )
    CLIENT_DELETED = (
        "client.deleted",
        "An administrator deleted a client, with its tokens and what users had allowed it.",
        f"{_BY}; `name`, `type`; `sign_ins`, `consents`, `personal_tokens`: how many went with it",
    )
    CLIENT_DISABLED = (
        "client.disabled",
        "An administrator disabled a client. Its tokens ended.",
        _BY,
    )
    CLIENT_ENABLED = "client.enabled", "An administrator enabled a client.", _BY
    CLIENT_EXPIRED = (
        "client.expired",
        "A client that had registered itself was deleted, since it never got a token.",
    )
    CLIENT_REGISTERED = (
        "client.registered",
        "A client registered itself, or its document was fetched for the first time.",
        "`name`; `redirect_uris`; `document`: the URL of the document",
    )
    CLIENT_REJECTED = (
        "client.rejected",
        "A client could not authenticate (401, invalid_client).",
        "`reason`: which check failed",
    )
    CLIENT_SECRET_RETIRED = (
        "client.secret_retired",
        "An administrator removed the former secret of a client.",
        _BY,
    )
    CLIENT_SECRET_ROTATED = (
        "client.secret_rotated",
        "An administrator gave a client a new secret.",
        _BY,
    )
    CODE_REUSED = (
        "code.reused",
        "An authorization code was redeemed a second time. All tokens that came from it were "
        "revoked: it may have been stolen.",
        "`family`",
    )
    CONSENT_GIVEN = (
        "consent.given",
        "The user allowed an application to sign them in, or allowed it more.",
        "`scope`: what was added; `resource`: the one that was added, if any",
    )
    CONSENT_WITHDRAWN = (
        "consent.withdrawn",
        "What an application was allowed was withdrawn, by the user or at the recovery of the "
        "account. The application's tokens of this user ended.",
    )
    DEVICE_APPROVED = (
        "device.approved",
        "The user allowed a program or device to sign them in, after entering its code.",
        "`scope`, `session`",
    )
    DEVICE_DENIED = (
        "device.denied",
        "The user did not allow the program or device whose code they had entered.",
    )
    DATABASE_EXPORTED = (
        "database.exported",
        "An administrator exported all users, clients, sign-ins and events.",
    )
    DATABASE_RESTORED = "database.restored", "An administrator restored a backup."
    EMAIL_CHANGE_CANCELED = (
        "email.change_canceled",
        "The pending change of the e-mail address was canceled, also because the user was made an "
        "administrator.",
        _IF_ADMINISTRATOR,
    )
    EMAIL_CHANGE_REQUESTED = (
        "email.change_requested",
        "A change of the e-mail address was requested. A link was mailed to the new one.",
        "`old`, `new` (hashes)",
    )
    EMAIL_CHANGE_REVERTED = (
        "email.change_reverted",
        "The former e-mail address took the change back. All sign-ins ended.",
        "`old`, `new` (hashes)",
    )
    EMAIL_CHANGED = (
        "email.changed",
        "The e-mail address was changed. The sign-ins ended.",
        "`old`, `new` (hashes)",
    )
    FACTOR_ADDED = (
        "factor.added",
        "The user added a second factor or a passkey, or it was imported.",
        "`kind`: `totp`, `passkey`, or `after_password` where a passkey is asked for after the "
        "password from now on; `factor`: its id; `session`: the sign-in that added it",
    )
    FACTOR_FAILED = (
        "factor.failed",
        "A second factor was wrong, at a sign-in or a sensitive change.",
        f"`method`; `reason`: what the caller was told; of a passkey {_CHECK}",
    )
    FACTOR_LOCKED = (
        "factor.locked",
        "An authenticator app is not accepted any more after a hundred wrong codes in a row, until "
        "another factor was used or the support has reset it.",
    )
    FACTOR_REMOVED = (
        "factor.removed",
        "A second factor or a passkey was removed, by the user or at the recovery of the account.",
        "`kind` (as of `factor.added`), `factor`; `session` if the user removed it",
    )
    FACTOR_REPLAYED = (
        "factor.replayed",
        "A right code of an authenticator app was sent that had been used before.",
    )
    FACTOR_RESET = (
        "factor.reset",
        "An administrator removed all second factors, passkeys and recovery codes of the user. The "
        "sign-ins ended.",
        _BY,
    )
    FORM_CROSS_ORIGIN = (
        "form.cross_origin",
        "A form was rejected: it had no valid CSRF token, or came from another site.",
        "[`reason`](#why-a-form-was-rejected); `sent` and `expected` where they differ",
    )
    GROUP_APPLIED = (
        "group.applied",
        "What an administrator had changed at a group with over 1,000 members, or its deletion, "
        "has come to all of them.",
        f"{_OF_GROUP}; {_MEMBERS}",
    )
    GROUP_CHANGED = (
        "group.changed",
        "An administrator changed the title, the scopes or the level of a group. A user who lost a "
        "scope by it loses the tokens that carry it.",
        f"{_WITH_SCOPES}; {_MEMBERS}, if there are over 1,000",
    )
    GROUP_CREATED = "group.created", "An administrator created a group.", _WITH_SCOPES
    GROUP_DELETED = (
        "group.deleted",
        "An administrator deleted a group.",
        f"{_OF_GROUP}; {_MEMBERS}, if there were over 1,000",
    )
    GROUP_MEMBER_ADDED = (
        "group.member_added",
        "An administrator added the user to a group.",
        _OF_GROUP,
    )
    GROUP_MEMBER_REMOVED = (
        "group.member_removed",
        "An administrator removed the user from a group, or deleted the group. The tokens that "
        "carry a scope of this group alone ended.",
        _OF_GROUP,
    )
    INVITATION_ACCEPTED = (
        "invitation.accepted",
        "The user accepted an invitation, and has registered by it unless there was an account.",
        "`invitation`; `group` if it is to one; `inviter`, as [`actor`](#the-actor)",
    )
    INVITATION_REVOKED = (
        "invitation.revoked",
        "An administrator revoked an invitation. Its link is not valid any more.",
        _OF_INVITATION,
    )
    INVITATION_SENT = (
        "invitation.sent",
        "An administrator invited the owner of an address, or sent the mail again.",
        _OF_INVITATION,
    )
    KEY_REMOVED = (
        "key.removed",
        "An administrator removed a signing key. The ID tokens that it has signed are valid no "
        "more.",
        "`kid`, `alg`",
    )
    KEY_ROTATED = (
        "key.rotated",
        "Another key signs ID tokens from now on: after `signing-key-rotation`, or since an "
        "administrator wanted it.",
        "`kid`, `alg`; `previous`: the `kid` of the key that signed before",
    )
    LIMIT_EXCEEDED = (
        "limit.exceeded",
        "A rate limit was exceeded. Until its window ends, what it counts is rejected (429), or "
        "not mailed.",
        "`limit`; `subject`: hash of what it counts",
    )
    LIMIT_LIFTED = (
        "limit.lifted",
        "An administrator ended the lockouts of a user and the counts of attempts.",
        f"`lifted`: how many counts; {_BY}",
    )
    LOGIN_CODE_SHOWN = (
        "login.code_shown",
        "A command printed the codes that the user would get by mail.",
        "`codes`: how many; [`actor`](#the-actor); `reason` if one was given",
    )
    LOGIN_DISAVOWED = (
        "login.disavowed",
        "A user ended all sign-ins, and the password, with the mailed link “This was not me”.",
        "`session`",
    )
    LOGIN_FAILED = (
        "login.failed",
        "A login failed.",
        "`reason`, one of [these](#why-a-login-failed); `name` (hash) if it is unknown; of a "
        f"passkey {_CHECK}",
    )
    LOGIN_LOCKED = (
        "login.locked",
        "A failed login used up the attempts of the account. Further logins are rejected for some "
        "minutes (429).",
        "as of `login.failed`",
    )
    LOGIN_PENDING = (
        "login.pending",
        "A first proof was right, and the sign-in waits for another one.",
        "`amr`: what was proved",
    )
    LOGIN_STEPPED_UP = (
        "login.stepped_up",
        "A signed-in user proved again, or with a further factor, to be who they are.",
        "`session`; `amr`: how",
    )
    MAIL_CANCELED = (
        "mail.canceled",
        "An administrator canceled a mail that was not sent yet.",
        "`mail` (id), `kind`; [`actor`](#the-actor); `reason` if one was given",
    )
    MAIL_RETRIED = (
        "mail.retried",
        "An administrator had a dead mail tried again.",
        "`mail` (id), `kind`; [`actor`](#the-actor); `reason` if one was given",
    )
    PASSKEY_CLONED = (
        "passkey.cloned",
        "A passkey that is bound to one device was refused: its counter went back, so there may be "
        "a copy of it.",
        "`factor`",
    )
    PASSKEY_REFUSED = (
        "passkey.refused",
        "A new passkey was refused. It is recorded once an hour for each address, user and reason.",
        _CHECK,
    )
    PROXY_CROSS_ORIGIN = (
        "proxy.cross_origin",
        "A page of another site called a proxy endpoint and was rejected. Setting cors-origins "
        "lists the sites that may.",
    )
    PROVIDER_ADDRESS_ASKED = (
        "provider.address_asked",
        "What a provider told about the e-mail address does not suffice, so the person has to "
        "prove an address by a mailed link.",
        _OF_PROVIDER + "; `reason`, one of [these](#why-an-address-has-to-be-proved); "
        "`asked_scope`, `answered_scope`",
    )
    PROVIDER_CLAIMED = (
        "provider.claimed",
        "A person who came from a provider took over an account with the same address that was "
        "never confirmed, or had it erased and began a new one.",
        _OF_PROVIDER + "; `way`: `mine` or `afresh`",
    )
    PROVIDER_CONFIRMED = (
        "provider.confirmed",
        "The signed-in user proved a sensitive change with a linked provider.",
        _OF_PROVIDER,
    )
    PROVIDER_LINKED = (
        "provider.linked",
        "An identity at a provider was linked to the user, who can sign in with it.",
        _OF_PROVIDER,
    )
    PROVIDER_REFUSED = (
        "provider.refused",
        "A return from a provider was refused.",
        "`provider`; `subject` (hash) if the provider told it; `reason`, one of "
        "[these](#why-a-provider-was-refused); `error`, `description`: what the provider says; "
        "`sent`, `expected`; `cause`; `asked_scope`, `answered_scope`",
    )
    PROVIDER_SIGNED_IN = (
        "provider.signed_in",
        "The user signed in with a provider.",
        _OF_PROVIDER + "; `asked_scope`, `answered_scope`",
    )
    PROVIDER_UNLINKED = (
        "provider.unlinked",
        "An identity was removed from the user. The sessions that began with it ended.",
        _OF_PROVIDER,
    )
    REAUTHENTICATION_FAILED = (
        "reauthentication.failed",
        "A signed-in user gave a wrong current password.",
        "`session`",
    )
    REAUTHENTICATION_LOCKED = (
        "reauthentication.locked",
        "A wrong current password used up the attempts of the sign-in.",
        "`session`",
    )
    RECOVERY_DONE = (
        "recovery.done",
        "The password was reset with a mailed link. All sign-ins ended.",
    )
    RECOVERY_REFUSED = (
        "recovery.refused",
        "A reset was rejected: the link is wrong, was used, or has expired.",
    )
    RECOVERY_CODE_USED = (
        "recovery_code.used",
        "A recovery code was used in place of a second factor.",
        "`left`: how many there are still",
    )
    RECOVERY_CODES_CREATED = (
        "recovery_codes.created",
        "The user got a new set of recovery codes. Those of before ended.",
    )
    RECOVERY_REQUESTED = (
        "recovery.requested",
        "A mail to reset a password was requested.",
        "`name` (hash) if it is unknown",
    )
    SECRET_ACCEPTED = (
        "secret.accepted",
        "An administrator let the database know another secret or sealing key.",
    )
    SECRET_ANNOUNCED = (
        "secret.announced",
        "An administrator added a secret or pepper that is accepted and does not sign yet.",
        "`setting`",
    )
    SECRET_RESEALED = (
        "secret.resealed",
        "An administrator sealed again what another key had sealed.",
        "`resealed`, `unusable`: how many",
    )
    SECRET_RETIRED = (
        "secret.retired",
        "An administrator removed the oldest secret or pepper.",
        "`setting`",
    )
    SECRET_ROTATED = (
        "secret.rotated",
        "An administrator made the new secret or pepper the one that signs.",
        "`setting`",
    )
    SESSION_BEGUN = (
        "session.begun",
        "The user signed in with a browser.",
        "`session`; `amr`: how",
    )
    SESSION_ENDED = "session.ended", "A browser session ended.", "`session`"
    TOKEN_CREATED = (
        "token.created",
        "The user created a personal access token.",
        "`token`; `session`: in which it was created",
    )
    TOKEN_ISSUED = (
        "token.issued",
        "Tokens were issued.",
        "`family`; `amr`: how the user signed in",
    )
    TOKEN_REPLAYED = (
        "token.replayed",
        "A refresh token was used a second time within refresh-grace. The same tokens were "
        "returned.",
        "`family`",
    )
    TOKEN_REUSED = (
        "token.reused",
        "A refresh token was used a second time after refresh-grace. All tokens of that login "
        "were revoked: it may have been stolen.",
        "`family`",
    )
    TOKEN_REVOKED = (
        "token.revoked",
        "A token was revoked.",
        "`family`, or `token` of a personal access token; `why`: `logout`, `signed out` (ended in "
        "the list of sessions), `revocation` (by its client), `revoked by its owner`, `revoked by "
        "an administrator` (then [`actor`](#the-actor), and `reason` if one was given), `its "
        "session was ended`, `consent withdrawn`, `no group gives its scope` (the user lost the "
        "[scope](groups.md)) or `its scope ended` (`authsite token revoke --scope`)",
    )
    USER_CHANGED = (
        "user.changed",
        "The profile was changed: name, username or phone number.",
        f"`changed`: which fields; {_IF_ADMINISTRATOR}",
    )
    USER_CONFIRMED = "user.confirmed", "The e-mail address was confirmed.", _IF_ADMINISTRATOR
    USER_CREATED = (
        "user.created",
        "The user registered, or was created or imported by a command.",
        f"`source`, `source_id` if imported; {_IF_ADMINISTRATOR}",
    )
    USER_DELETION_SCHEDULED = (
        "user.deletion_scheduled",
        "An administrator disabled the user, who will be erased at a later time unless enabled "
        "before. All sign-ins ended.",
        f"`delete_at`; {_BY}",
    )
    USER_DISABLED = (
        "user.disabled",
        "An administrator disabled the user. All sign-ins ended.",
        _BY,
    )
    USER_ENABLED = (
        "user.enabled",
        "An administrator enabled the user, and ended a deletion that was to come.",
        _BY,
    )
    USER_ERASED = (
        "user.erased",
        "The user was deleted.",
        "`why`: `administrator` (then [`actor`](#the-actor), and `reason` if one was given), "
        "`due` (scheduled by an administrator before), `disowned` (by the owner of the e-mail "
        "address, who had not registered it), `unconfirmed` (setting `purge-unconfirmed`), none "
        "by the user",
    )
    USER_EXPORTED = (
        "user.exported",
        "The data stored about the user was exported, by the user or an administrator.",
        "`by`: `user` or `administrator`; `session` of the user",
    )
    USER_OTHERS_SIGNED_OUT = (
        "user.others_signed_out",
        "All other sign-ins of the user were ended.",
    )
    USER_PASSWORD_CHANGED = (
        "user.password_changed",
        "The password was changed. The other sign-ins ended.",
    )
    USER_SIGNED_OUT = (
        "user.signed_out",
        "An administrator ended all sign-ins of the user.",
        _BY,
    )
    VERIFICATION_REFUSED = (
        "verification.refused",
        "A link that confirms an e-mail address was rejected: it was changed, or is for an "
        "address that the user no longer has.",
    )
    VERIFICATION_REQUESTED = (
        "verification.requested",
        "A link that confirms an e-mail address was requested.",
    )

    @classmethod
    def of(cls, name: str) -> "Event | None":
        """The event with this name; None for an unknown name."""
        return _BY_NAME.get(name)


_BY_NAME = {event.value: event for event in Event}


def begins(text: str) -> bool:
    """Whether the name of an event begins with ``text``."""
    return any(event.startswith(text) for event in Event)
