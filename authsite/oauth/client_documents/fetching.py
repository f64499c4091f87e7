"""Fetch a document from the host that a stranger has named.

The request goes to public addresses alone, follows no redirect, and ends after five seconds
(`outbound`).
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import NamedTuple

from authsite.platform.context import Services
from authsite.platform.http import outbound
from authsite.platform.http.outbound import UNTRUSTED, Answer, NoSlot, Unreachable

from .problems import DocumentRefused, Problem

LIMIT = 5 * 1024  # bytes (section 6.6 of the draft)
SHORTEST, LONGEST = timedelta(minutes=5), timedelta(hours=24)
_JSON = re.compile(r"application/(?:json|[a-z0-9.+-]+\+json)")
_MAX_AGE = re.compile(r"max-age=\"?([0-9]{1,16})\"?")


class Fetched(NamedTuple):
    """The body of a document, and how long it counts."""

    body: bytes
    lifetime: timedelta


def fetch(services: Services, url: str) -> Fetched:
    """The document at a URL that `client_urls.check` accepts. Raises `DocumentRefused`.

    Call it outside of a transaction: it may take five seconds.
    """
    try:
        answer = outbound.send(
            services,
            UNTRUSTED,
            "GET",
            url,
            headers={"Accept": "application/json"},
            limit=LIMIT,
            public_only=True,
        )
    except NoSlot:
        raise DocumentRefused(Problem.BUSY, Problem.BUSY.value) from None
    except Unreachable as error:
        raise DocumentRefused(Problem.UNREACHABLE, error.reason) from None
    _check(answer)
    return Fetched(answer.body, lifetime_of(answer.headers))


def _check(answer: Answer) -> None:
    if 300 <= answer.status < 400:
        raise DocumentRefused(
            Problem.UNREACHABLE,
            f"the host answered with a redirect (status {answer.status}), which is not followed",
        )
    if answer.status != 200:
        raise DocumentRefused(
            Problem.UNREACHABLE, f"the host answered with the status {answer.status}, not 200"
        )
    media_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not _JSON.fullmatch(media_type):
        raise DocumentRefused(
            Problem.INVALID, f"its Content-Type is not application/json: {media_type[:100]!r}"
        )


def lifetime_of(headers: Mapping[str, str]) -> timedelta:
    """How long a document counts, by ``Cache-Control`` (RFC 9111), from 5 minutes to 24 hours."""
    directives = [each.strip() for each in headers.get("cache-control", "").lower().split(",")]
    if not {"no-store", "no-cache"}.isdisjoint(directives):
        return SHORTEST
    found = next(filter(None, map(_MAX_AGE.fullmatch, directives)), None)
    if found is None:
        return SHORTEST
    seconds = min(int(found[1]), int(LONGEST.total_seconds()))
    return max(timedelta(seconds=seconds), SHORTEST)
