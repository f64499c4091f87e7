"""What other packages do when an account is recovered.

That is a reset of the password by mail, taking a change of address back, "This was not me", a
password that an administrator sets, and a recovery by the mailbox on the way from a provider.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import UUID

from authsite.platform.context import Context
from authsite.platform.registrations import Registered

if TYPE_CHECKING:
    from pyramid.config import Configurator

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
