"""Browser sessions: the row, the cookie, and the background task that writes the last uses."""

from functools import partial
from typing import TYPE_CHECKING

from authsite.platform.user_data import UserData

from . import csrf
from .models import BrowserSession, make_job, purge
from .service import AT_SESSION_END, AtEnd

if TYPE_CHECKING:
    from pyramid.config import Configurator


def at_session_end(config: "Configurator", function: AtEnd) -> None:
    """Directive: call ``function`` when a browser session is ended; see `AtEnd`.

    By its user, or by another user's sign-in in the same browser; not for a session that was idle
    or old for too long. The row is deleted already, in the same transaction.
    """
    AT_SESSION_END.add(config, function)


def includeme(config: "Configurator") -> None:
    """The cleanup, and the background task that writes when sessions and tokens were last used."""
    config.add_directive("at_session_end", at_session_end)
    config.add_request_attribute("csrf_seed", csrf.seed)
    config.add_request_attribute("csrf_token", csrf.token)
    config.add_request_attribute("check_csrf", partial(partial, csrf.check))
    config.add_user_data(
        UserData(
            "sign_ins_of_browsers",
            BrowserSession,
            "id remember created_at used_at expires_at address agent facts auth_at recognized"
            " identity_id ends_at confirmed_at",
        )
    )
    config.add_cleanup("sessions", "Web sessions", purge, when="idle or old for too long")
    # A host that sends mail on a thread has room for this one.
    enabled = config.registry["authsite"].settings.mail_sender == "thread" or None
    config.add_background_task("last-used", make_job, enabled=enabled)
