"""Mail: an outbox in the database, and a sender that renders the mails and sends them.

A request only writes a row, in its own transaction. Everything slow or unreliable, from the
template to the mail server, happens afterwards in a sender, which may be another process.
"""

from typing import TYPE_CHECKING

from authsite.platform.user_data import UserData

from .message import MAIL_BUILDERS, MailBuilder
from .outbox import OutboxMessage, erase, purge

if TYPE_CHECKING:
    from pyramid.config import Configurator


def add_mail_builder(config: "Configurator", name: str, build: MailBuilder) -> None:
    """Directive: ``build(job)`` returns the content of the mail ``name``, or None."""
    MAIL_BUILDERS.add(config, build, name)


def includeme(config: "Configurator") -> None:
    """``config.add_mail_builder``, the sender as a background task, and perhaps `/dev/mail`."""
    config.add_directive("add_mail_builder", add_mail_builder)
    config.add_user_data(
        UserData(
            "mails",
            OutboxMessage,
            "id kind address about_id about_since page_url base_url language from_address"
            " from_agent state created_at expires_at give_up_at next_attempt_at delivery_attempts"
            " last_error ended_at",
            erase=erase,
        )
    )
    config.add_cleanup(
        "mails", "Mails", purge, when="sent or dropped a week ago, or dead for a month"
    )
    services = config.registry["authsite"]
    sender = services.settings.mail_sender
    if services.mail_copies is not None:
        config.add_route("authsite.dev.mail", "/dev/mail", local=True)
        config.add_route("authsite.dev.mail.html", "/dev/mail/{mail}", local=True)
        config.scan(".pages")
    config.add_background_task(
        # By name: a process that sends no mail does not load what makes and sends it.
        "mail",
        "authsite.platform.mail.sender.make_job",
        enabled=None if sender is None else sender == "thread",
    )
