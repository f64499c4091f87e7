"""Sending and reading mails in tests."""

import email.policy
import re
import uuid
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

from bs4 import BeautifulSoup

from authsite.platform.mail import outbox
from authsite.platform.mail.outbox import OutboxMessage, Recipient
from authsite.platform.mail.sender import open_sender, send_batch
from authsite.verification import links
from tests.support.acting import acting


def send_all(registry):
    """Send everything that is due, as a sender does; how many ended in which state."""
    sender, done = open_sender(registry["authsite"]), Counter()
    for _ in range(100):
        if not send_batch(sender, Event(), done):
            return done
    raise AssertionError(f"the outbox never ends: {done}")


def read_folder(folder):
    """The mails of the ``file`` driver, oldest first; they are gone afterwards."""
    mails = []
    for path in sorted(Path(folder).glob("*.eml")):
        mails.append(email.message_from_bytes(path.read_bytes(), policy=email.policy.default))
        path.unlink()
    return mails


def text_of(mail):
    """The text part."""
    return mail.get_body(("plain",)).get_content().replace("\r\n", "\n")


def html_of(mail):
    """The HTML part."""
    return mail.get_body(("html",)).get_content()


def link_in(mail):
    """The first link of the text part, which stands alone on its line."""
    return re.search(r"^https?://\S+$", text_of(mail), re.MULTILINE)[0]


def token_in(link):
    """The token that a short link ends with."""
    return link.rpartition("/")[2]


def signed_url(site, mail):
    """The signed URL with the content of a short link, which our own page sends with its form."""
    services = site.app.registry["authsite"]
    with site.db() as db:
        link = links.read_token(acting(db, services), token_in(mail_link := link_in(mail)))
    base_url = mail_link.partition("/email/")[0]
    return links.signed_url(services.keys[links.PURPOSE], base_url, link)


def reset_fields(site, mail):
    """The address and the token that the page of a short reset link sends with its form."""
    form = site.http.get(link_in(mail), status=200).forms[0]
    return {name: form[name].value for name in ("email", "token")}


def values_in(page):
    """What the first form of the page of a mailed link sends, from its HTML."""
    form = BeautifulSoup(page, "html.parser").select_one("main form")
    return {each["name"]: each.get("value", "") for each in form.select("input[name]")}


def put(site, kind="password_changed", address="ann@example.com", **more):
    """Put a mail into the outbox of ``site``; its id."""
    recipient = Recipient(more.pop("user_id", None), address)
    info = {"language": "en", "base_urls": ("http://localhost",)}
    info |= {name: more.pop(name) for name in info if name in more}
    with site.db() as db:
        return outbox.put(acting(db, **info), outbox.NewMail(kind, recipient, **more))


def rows(site):
    """Everything in the outbox, oldest first."""
    with site.db() as db:
        return db.query(OutboxMessage).order_by(OutboxMessage.created_at, OutboxMessage.id).all()


def row(site, id_):
    """One row of the outbox."""
    with site.db() as db:
        return db.get(OutboxMessage, id_)


def send_one(cfg, text="Hello\n", subject="A note"):
    """Send a mail to ann@example.com over the transport of these settings."""
    from authsite.platform.mail.leases import ClaimedMail
    from authsite.platform.mail.message import Rendered, compose
    from authsite.platform.mail.transports.driver import open_transport

    now = datetime(2026, 11, 20, 18, 4, tzinfo=UTC)
    row_ = ClaimedMail(
        id=uuid.uuid4(), kind="note", user_id=None, address="ann@example.com", page_url=None,
        base_url=None, language="en", expires_at=None, created_at=now, give_up_at=now,
        lease_until=now,
    )  # fmt: skip
    mail = compose(row_, Rendered(subject, text, "<p>Grüße</p>"), cfg, now)
    open_transport(cfg)(mail, lambda: None)
