"""The scopes that a client can be given here: those of the setting `scopes`, and our own."""

from authsite.platform.i18n import _
from authsite.platform.settings import Settings
from authsite.platform.settings.values import RESERVED_SCOPES
from authsite.users.groups.labels import ADMIN_SCOPES

from .invalid_value import InvalidValue


def require_known(cfg: Settings, scope: str) -> None:
    """Raise ValueError for a scope that is not in ``authsite.scopes``, if that has any."""
    known = {*cfg.scopes, *ADMIN_SCOPES, *RESERVED_SCOPES}
    unknown = set(scope.split()) - known if cfg.scopes else set()
    if unknown:
        raise InvalidValue(
            _(
                "unknown scope ${unknown}: add it to authsite.scopes, which has ${scopes}",
                mapping={"unknown": ", ".join(sorted(unknown)), "scopes": ", ".join(cfg.scopes)},
            )
        )
