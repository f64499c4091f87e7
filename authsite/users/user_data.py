"""What the tables of this package have of a user, and the line of a user in an export."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast
from uuid import UUID

from sqlalchemy import CursorResult, update
from sqlalchemy.orm import Session
from typing_extensions import TypedDict

from authsite.platform.context import Context
from authsite.platform.passwords import imports
from authsite.platform.registrations import Registered
from authsite.platform.runtime import clock
from authsite.platform.user_data import Id, Line, Moment, UserData, exported_line

from . import former, models
from .identities import Identity
from .models import User as models_User

if TYPE_CHECKING:
    from pyramid.config import Configurator


Scheme: TypeAlias = Literal[
    "authsite-v1", "bcrypt", "bcrypt_sha256", "pbkdf2_sha256", "argon2", "unknown"
]


@exported_line
class PasswordHash(TypedDict):
    scheme: Scheme
    """How the hash is computed; docs/moving.md describes each."""
    hash: str
    """The hash as it is stored, with its parameters."""


@exported_line
class User(TypedDict):
    type: Literal["user"]
    id: Id
    email: str
    username: str | None
    phone: str | None
    name: str | None
    password: PasswordHash | None
    """Null for a user without a password."""
    email_verified_at: Moment | None
    """Null: the address is not confirmed."""
    disabled_at: Moment | None
    terms_url: str | None
    """The terms that the user has accepted."""
    terms_accepted_at: Moment | None
    language: str | None
    """Of mails to the user; null: that of the request which causes a mail."""
    origin: str
    """How the account came into being."""
    delete_at: Moment | None
    """When the user will be erased, as an administrator decided; null: never."""
    second_factor_at: Moment | None
    """Since when a second factor is asked for after a password; null: it is not."""
    factors_since: Moment | None
    """Since when the account has had a second factor or a passkey without a break."""
    passkey_after_password: bool
    """Whether the user wants to be asked for a passkey after the password."""
    last_sign_in_at: Moment | None
    """When the user last signed in, exact to an hour; null: never, or before there was this
    field."""
    created_at: Moment
    updated_at: Moment


@exported_line
class LinkedIdentity(TypedDict):
    type: Literal["identity"]
    id: Id
    user_id: Id
    provider: str
    """The name of the provider in the settings."""
    issuer: str
    subject: str
    """What identifies the person at the issuer."""
    email: str | None
    """As the provider told it, or as a mailed link has proved it."""
    trusted: bool
    """Whether the address was proved, by a trusted provider or by mail."""
    created_at: Moment
    used_at: Moment | None
    """When the user last signed in or confirmed with it."""


def _with_password(line: dict[str, Any]) -> None:
    stored = line["password"]
    if stored is not None:
        line["password"] = {"scheme": imports.scheme_of(stored), "hash": stored}


USER_DATA = (
    UserData(
        "user",
        models.User,
        "id email username phone name email_verified_at disabled_at created_at updated_at"
        " pending_email pending_expires_at pending_asked_at pending_by_link"
        " terms_url terms_accepted_at language"
        " links_ended_at labels origin delete_at second_factor_at factors_since"
        " passkey_after_password last_sign_in_at",
        user="id",
        line=Line("users", User, {"password": "password_hash"}, _with_password),
    ),
    UserData(
        "identities",
        Identity,
        "id provider issuer subject email trusted created_at used_at",
        line=Line("identities", LinkedIdentity),
    ),
    UserData("login_names", models.LoginName, "kind key"),
    UserData(
        "former_addresses",
        models.FormerAddress,
        "id key email expires_at confirmed_at links_ended_at",
    ),
    # Not exported: of the name there is only a keyed hash, which does not tell it. After the
    # erasure the rows remain, without the id of the user, since that is when others would take the
    # name.
    UserData(
        "released_usernames",
        models.ReleasedUsername,
        erase=former.forget_holder,
        retained=True,
    ),
)


# What a restored backup must not bring back of users.


RESTORE_STEP = 1_000_000  # the columns are integers of 32 bits: enough for 2000 restores


def end_all_sign_ins(db: Session) -> int:
    """End every token, session, pending change, reset link and link "This was not me" of all users.

    Returns the number of users.

    No browser or address is recognized any more. For a restored backup: the counters grow by more
    than they can have grown since the backup. Otherwise a link that was sealed and used in that
    time could become valid again, and a browser that was forgotten could be recognized again.
    """
    ended = db.execute(
        update(models_User)
        .values(
            epoch=models_User.epoch + RESTORE_STEP,
            recovery_version=models_User.recovery_version + RESTORE_STEP,
            recognition_version=models_User.recognition_version + RESTORE_STEP,
            links_ended_at=clock.now(),
            **former.NONE,
        )
        .execution_options(synchronize_session=False)
    )
    return cast(CursorResult[Any], ended).rowcount


# What other packages do when an account is recovered.
#
# That is a reset of the password by mail, taking a change of address back, "This was not me", a
# password that an administrator sets, and a recovery by the mailbox on the way from a provider.


AfterRecovery = Callable[[Context, UUID], None]
AT_RECOVERY = Registered[AfterRecovery]("functions for a recovery")
AT_RECOVERY_BY_MAIL = Registered[AfterRecovery]("functions for a recovery by the mailbox alone")


def at_recovery(config: "Configurator", function: AfterRecovery) -> None:
    """Directive: call ``function(ctx, user_id)`` in the transaction that recovers an account.

    It takes back what an intruder may have done. The row of the user is locked.
    """
    AT_RECOVERY.add(config, function)


def at_recovery_by_mail(config: "Configurator", function: AfterRecovery) -> None:
    """Directive: as `at_recovery`, where nothing but the mailbox was proved.

    Another person may have made the account, so everything that opens it has to go.
    """
    AT_RECOVERY_BY_MAIL.add(config, function)
