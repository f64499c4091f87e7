"""Requests that a test sends as authsite does."""

import pytest

from authsite.platform.http import outbound


def send(site, url, **options):
    """`outbound.send` with the services of ``site``."""
    settings = {"limit": 1000, "deadline": 5.0, **options}
    slot = settings.pop("slot", "corp")
    return outbound.send(
        site.app.registry["authsite"], slot, settings.pop("method", "GET"), url, **settings
    )


def unreachable(site, url, **options):
    """Why there is no answer."""
    with pytest.raises(outbound.Unreachable) as raised:
        send(site, url, **options)
    return raised.value.reason
