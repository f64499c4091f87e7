"""The view option ``rate_limit="register-address"``, or a tuple of names in counting order."""

from typing import Any

from pyramid.exceptions import ConfigurationError

from authsite.platform.http.errors import ApiError
from authsite.platform.http.own_routes import is_own_view
from authsite.platform.request_state import Request, view_options
from authsite.platform.settings.rate_limits import RATE_LIMITS

from .caller_limits import CallerLimits, counts_as_failure


@view_options("rate_limit")
def rate_limit_deriver(view: Any, info: Any) -> Any:
    """Count before the view runs, after the body was validated.

    A limit that counts only failures is refunded unless the view fails with one of its errors. The
    refund happens after the transaction has ended: on SQLite a request that writes would wait for
    itself.
    """
    option = info.options.get("rate_limit")
    if option is None or not is_own_view(info):
        return view
    names = (option,) if isinstance(option, str) else tuple(option)
    allowed = [name for name, limit in RATE_LIMITS.items() if limit.by_view]
    for name in names:
        if name not in allowed:
            known = ", ".join(allowed)
            raise ConfigurationError(f"rate_limit={name!r}: a view names one or more of {known}")

    def rate_limited_view(context: Any, request: Request) -> Any:
        limits = request.authsite.ctx.limits
        refunds: list[str] = []
        try:
            for name in names:
                limits.count(name, limits.address)
                if RATE_LIMITS[name].failures:
                    refunds.append(name)
            return view(context, request)
        except ApiError as error:
            refunds = [name for name in refunds if not counts_as_failure(name, error)]
            raise
        finally:
            for name in refunds:
                _refund_at_end(request, limits, name)

    return rate_limited_view


def _refund_at_end(request: Request, limits: CallerLimits, name: str) -> None:
    request.add_finished_callback(lambda _request: limits.refund(name, limits.address))
