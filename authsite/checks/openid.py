"""The checks of ``authsite doctor`` about OpenID Connect: whether it is on, and its keys."""

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from authsite.platform.finding import Finding

from .findings import line

if TYPE_CHECKING:
    from authsite.platform.context import Services

_SUBJECT = "openid"
_LATE = timedelta(days=2)  # after which no process seems to rotate the keys


def openid_findings(services: "Services", *, standalone: bool = True) -> Iterator[Finding]:
    """Whether applications can sign people in here, or why not, and the state of each key.

    ``standalone``: the settings are those of authsite's own application.
    """
    from authsite.oauth.oidc.availability import is_on_with

    cfg = services.settings
    if is_on_with(cfg, standalone=standalone):
        if cfg.openid_obstacle is None:  # else a rule says it
            yield line("openid-on", _SUBJECT, issuer=cfg.base_url[0])
            yield from _keys(services)
    elif cfg.openid is False:
        yield line("openid-set-off", _SUBJECT)
    elif cfg.openid_obstacle and standalone:
        yield line("openid-off", _SUBJECT, obstacle=cfg.openid_obstacle)
    else:
        yield line("openid-included", _SUBJECT)


def _keys(services: "Services") -> Iterator[Finding]:
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.oauth.oidc.keys.inspection import inspect
    from authsite.platform.runtime import clock

    cfg = services.settings
    try:
        found = inspect(services)
    except SQLAlchemyError:
        return  # the lines about the database say it
    if not found:
        yield line("signing-keys-none", "signing-keys")
    for key in found:
        subject = f"signing-keys.{key.alg}"
        if key.usable is False:
            yield line("signing-key-unusable", subject, kid=key.kid, state=key.state)
        elif key.state == "current" and key.current_at:
            overdue = cfg.signing_key_rotation and (
                key.current_at + cfg.signing_key_rotation + _LATE < clock.now()
            )
            name = "signing-key-overdue" if overdue else "signing-key-signs"
            yield line(name, subject, kid=key.kid, at=clock.rfc3339(key.current_at))
