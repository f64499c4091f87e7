"""The view option ``throttle="register-address"``, or several in the order they are counted."""

from typing import Any

from pyramid.exceptions import ConfigurationError

from authsite.http.errors import ApiError

from .attempts import counts_as_failure
from .buckets import BUCKETS


def throttle_deriver(view: Any, info: Any) -> Any:
    """Count before the view runs, once the body has been read and found valid.

    A bucket of failures is counted too, and gets it back unless the view fails in the way it
    counts. That happens after the transaction has ended: on SQLite a request that writes would
    wait for itself.
    """
    option = info.options.get("throttle")
    if option is None:
        return view
    names = (option,) if isinstance(option, str) else tuple(option)
    for name in names:
        if name not in BUCKETS or BUCKETS[name].subject is None:
            known = ", ".join(name for name, bucket in BUCKETS.items() if bucket.subject)
            raise ConfigurationError(f"throttle={name!r}: a view names one or more of {known}")
    buckets = {name: BUCKETS[name] for name in names}

    def throttled_view(context: Any, request: Any) -> Any:
        lent: list[tuple[str, str]] = []
        try:
            for name, bucket in buckets.items():
                subject = bucket.subject and bucket.subject(request)
                if subject is None:
                    continue
                request.attempts.count(name, subject)
                if bucket.failures:
                    lent.append((name, subject))
            return view(context, request)
        except ApiError as error:
            lent = [each for each in lent if not counts_as_failure(each[0], error)]
            raise
        finally:
            for each in lent:
                _give_back_at_the_end(request, *each)

    return throttled_view


throttle_deriver.options = ("throttle",)  # type: ignore[attr-defined]


def _give_back_at_the_end(request: Any, name: str, subject: str) -> None:
    attempts = request.attempts
    request.add_finished_callback(lambda _request: attempts.give_back(name, subject))
