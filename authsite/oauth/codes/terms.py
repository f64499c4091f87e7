"""What of a client decides about the tokens that come from a code, and of its user."""

from typing import NamedTuple

from authsite.oauth import client_groups
from authsite.oauth.errors import ConfirmationRequired
from authsite.oauth.models import Client
from authsite.platform.db.prepared import columns_of
from authsite.platform.settings import Settings
from authsite.users import levels
from authsite.users.account import ACCOUNT_COLUMNS, Account


class Terms(NamedTuple):
    """The columns of `Client`, and the user for whom it asks; None if that one may not sign in."""

    type: str
    first_party: bool
    require_confirmed: bool
    require_group: str | None
    id_token_alg: str | None
    id_token_lifetime: int | None
    claims_in_id_token: bool
    document_uri: str | None
    account: Account | None


TERMS_COLUMNS = (*columns_of(Client, Terms), *ACCOUNT_COLUMNS)


def check_user(settings: Settings, account: Account, terms: Terms, amr: tuple[str, ...]) -> None:
    """Check what the client requires of its users, at every request for tokens.

    Raises `ConfirmationRequired` and `GroupRequired`.
    """
    if terms.require_confirmed and not account.confirmed:
        raise ConfirmationRequired
    client_groups.check(settings, account, terms.require_group, levels.acr_of(amr))
