"""Record why a way to a provider was refused, for the operator."""

from collections.abc import Iterator
from contextlib import contextmanager

from structlog import get_logger

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import pseudonym, record_apart
from authsite.platform.context import Context
from authsite.sign_in.methods.provider import ProviderRefused

log = get_logger("authsite.providers")


@contextmanager
def recording_denials(ctx: Context, *uncounted: str) -> Iterator[None]:
    """Record a `ProviderRefused` that the block raises, while the request holds no lock.

    ``uncounted``: whose refusals no limit counts, such as an address; once an hour then.
    """
    try:
        yield
    except ProviderRefused as error:
        about = {"provider": error.provider.name, "reason": str(error.failure), **error.facts}
        log.warning("provider_refused", **about)
        if uncounted and not ctx.limits.once_an_hour("provider refused", *uncounted):
            raise
        subject = {"subject": pseudonym(error.subject)} if error.subject else {}
        record_apart(ctx, Event.PROVIDER_REFUSED, details={**about, **subject})
        raise
