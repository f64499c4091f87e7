"""Requests that a test sends as authsite does."""

import socket

import pytest

from authsite.platform.http import outbound

PUBLIC = "93.184.216.34"
"""A public address. With ``resolves[PUBLIC] = ["127.0.0.1"]`` the connection to it comes here."""


def own_resolver(monkeypatch):
    """A dict of what names resolve to; under ``asked`` the names that were asked for."""
    addresses, asked = {}, []

    def getaddrinfo(host, port, *_arguments, **_options):
        asked.append(host)
        return [
            (
                socket.AF_INET6 if ":" in each else socket.AF_INET,
                socket.SOCK_STREAM,
                6,
                "",
                (each, port),
            )
            for each in addresses.get(host, [host])
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    addresses["asked"] = asked
    return addresses


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
