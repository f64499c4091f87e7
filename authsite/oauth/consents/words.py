"""What a scope allows, in words for the person who is asked."""

from authsite.platform.i18n import _
from authsite.platform.settings import Settings

OWN_WORDS = {
    "openid": _("Sign you in"),
    "profile": _("See your name and username"),
    "email": _("See your e-mail address"),
    "phone": _("See your phone number"),
    "groups": _("See which groups you are in"),
    "account": _("See and change your account"),
    "offline_access": _("Keep access after you sign out"),
}
"""The scopes of OpenID Connect (Core, section 5.4 and 11), and ours."""


def words_of(settings: Settings, scope: str) -> str:
    """What ``scope`` allows, for `translate`: the description in setting `scopes`, or our words.

    A scope without a description is its name.
    """
    return OWN_WORDS.get(scope) or settings.scopes.get(scope) or scope
