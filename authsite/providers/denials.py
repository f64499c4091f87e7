"""Record why a way to a provider was refused, for the operator."""

from collections.abc import Iterator
from contextlib import contextmanager

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import pseudonym, record_apart
from authsite.platform.context import Context
from authsite.sign_in.methods.provider import ProviderRefused


@contextmanager
def recording_denials(ctx: Context) -> Iterator[None]:
    """Record a `ProviderRefused` that the block raises, while the request holds no lock."""
    try:
        yield
    except ProviderRefused as error:
        details = {"provider": error.provider.name, "reason": str(error.failure)}
        if error.subject:
            details["subject"] = pseudonym(error.subject)
        record_apart(ctx, Event.PROVIDER_REFUSED, details=details)
        raise
