"""The pages of failures on the way to a provider: in plain words, with what to do next."""

from enum import Enum
from typing import NamedTuple

from authsite.platform.i18n import _


class Next(Enum):
    """Where the buttons of the page lead."""

    SIGN_IN = "to the provider again, and to the login page"
    ACCOUNT = "to the account page, where the signed-in person began"
    OTHER_WAY = "to the login page, since the provider would answer the same again"
    PASSWORD_LINK = "a mail with the link that sets a password, and to the account page"


class FailurePage(NamedTuple):
    """The page of a failure: status, title, and a sentence that says what to do next.

    In both texts ``${provider}`` is the label of the provider. ``next``: where the buttons lead.
    """

    status: int
    title: str
    sentence: str
    next: Next = Next.SIGN_IN


CANCELED = FailurePage(
    400,
    _("Canceled"),
    _(
        "You came back from ${provider} without a sign-in there, and nothing has changed. Try "
        "again, or choose another way."
    ),
)
TOO_OLD = FailurePage(
    400,
    _("This took too long"),
    _("More than 10 minutes have passed since you left for ${provider}. Begin again."),
)
USED = FailurePage(
    400,
    _("This page was opened before"),
    _("Each answer of ${provider} works once, and this one was used. Begin again."),
)
OTHER_BROWSER = FailurePage(
    400,
    _("This began in another browser"),
    _(
        "This answer of ${provider} belongs to another browser, or this browser keeps no cookies. "
        "Begin again in this browser."
    ),
)
ENDED = FailurePage(
    400,
    _("This page or link no longer works"),
    _("It was used already, or too much time has passed. Begin again with ${provider}."),
)
LINK_IN_OTHER_BROWSER = FailurePage(
    400,
    _("Open the link in the other browser"),
    _(
        "For your security this link works only in the browser in which you began with "
        "${provider}. Copy the link from the e-mail and open it there, or begin again here."
    ),
)
SIGNED_OUT = FailurePage(
    400,
    _("You are no longer signed in"),
    _("The sign-in in which you left for ${provider} has ended. Sign in, and begin again."),
)
NOT_OURS = FailurePage(
    400,
    _("This answer does not belong here"),
    _("The answer of ${provider} is incomplete, or belongs to something else. Begin again."),
)
NO_ANSWER = FailurePage(
    503,
    _("${provider} did not answer as expected"),
    _(
        "We got no usable answer from ${provider}. Try again in a few minutes, or choose another "
        "way to sign in."
    ),
)
NOT_USABLE = FailurePage(
    503,
    _("${provider} did not answer as expected"),
    _(
        "We got no usable answer from ${provider}, and another try will not change that. Choose "
        "another way, and tell the people who run this site the number below."
    ),
    Next.OTHER_WAY,
)
PROVIDER_ERROR = FailurePage(
    503,
    _("${provider} did not let you through"),
    _(
        "${provider} reports an error, for which its administrators or the people who run this "
        "site have to do something. Choose another way, and tell them the number below."
    ),
    Next.OTHER_WAY,
)
TENANT = FailurePage(
    403,
    _("Your organization is not allowed here"),
    _(
        "Only accounts of certain organizations at ${provider} are allowed. Choose another account "
        "there, or ask the people who run this site."
    ),
)
DOMAIN = FailurePage(
    403,
    _("Your address is not allowed here"),
    _(
        "Only accounts of certain domains at ${provider} are allowed. Choose another account "
        "there, or ask the people who run this site."
    ),
)
TAKEN = FailurePage(
    403,
    _("Another user has this sign-in method"),
    _(
        "This account at ${provider} is linked to another user. Choose another account there, or "
        "sign in as that user."
    ),
    Next.ACCOUNT,
)
NOT_LINKED = FailurePage(
    403,
    _("This is not your sign-in method"),
    _(
        "This account at ${provider} is not linked to you. Choose the one that is listed on your "
        "account page, under Sign-in methods."
    ),
    Next.ACCOUNT,
)
NOT_RECENT = FailurePage(
    400,
    _("This is not enough as a confirmation"),
    _(
        "${provider} has not told us that you have just signed in there, so this does not show "
        "that it is you. Set a password instead."
    ),
    Next.PASSWORD_LINK,
)
NOT_VOUCHED_FOR = FailurePage(
    403,
    _("This is not enough as a confirmation"),
    _(
        "${provider} has not told us a verified address of yours of the domains that are allowed "
        "here, so this does not show that it is you. Set a password instead."
    ),
    Next.PASSWORD_LINK,
)
CLOSED = FailurePage(
    403,
    _("You cannot register here"),
    _(
        "This account at ${provider} is not linked to a user, and new users cannot register with "
        "it. If you have an account, sign in another way, and link ${provider} on your account "
        "page."
    ),
)
