"""The limit of mails to a user's address that may be another person's: it is not confirmed."""

from authsite.platform.context import Context
from authsite.users.account import Account

from .identifiers import normalized_key


def may_mail_own_address(ctx: Context, account: Account) -> bool:
    """Count a mail to the user's own address; return whether it is within its limit.

    A confirmed address has no limit. An unconfirmed one may belong to another person: it has the
    limit ``unconfirmed-recipient``, which all accounts with this address share in turn.
    """
    return account.confirmed or ctx.limits.allows(
        "unconfirmed-recipient", normalized_key("email", account.email)
    )
