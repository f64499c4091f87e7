"""What a sign-in leads to: the package whose page ``next`` is may tell it to the sign-in pages."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from authsite.platform.http.request_facts import chosen_by_button, chosen_language
from authsite.platform.registrations import Registered
from authsite.platform.request_state import Request

if TYPE_CHECKING:
    from pyramid.config import Configurator


class Onward(NamedTuple):
    """The application that the user signs in to, and what it says about the user.

    ``application``: its name; None if no administrator has checked it.
    ``login_hint``: the login name to fill in. ``language``: one of those that are offered.
    ``wants_login``: it asks for a sign-in now; ``max_age``: for a proof that is at most this old,
    in seconds. A provider is asked for the same.
    """

    application: str | None
    login_hint: str | None = None
    language: str | None = None
    wants_login: bool = False
    max_age: int | None = None


Find = Callable[[Request, str], Onward | None]
ONWARD = Registered[Find]("finders of what a sign-in leads to")


def add_onward(config: "Configurator", find: Find) -> None:
    """Directive: ``find(request, next)`` tells what a sign-in leads to, or None."""
    ONWARD.add(config, find)


def find_onward(request: Request) -> Onward | None:
    """What the sign-in of this request leads to, if it is known."""
    target = request.authsite.next
    if target is None:
        return None
    finders = ONWARD.of(request.authsite.services).values()
    return next(filter(None, (find(request, target) for find in finders)), None)


def onward_of(request: Request) -> Onward | None:
    """`find_onward`, with its language as that of the page."""
    found = find_onward(request)
    if found:
        show_in(request, found.language)
    return found


def show_in(request: Request, language: str | None) -> None:
    """Show the page in ``language``, unless the person has chosen one."""
    if language and not (chosen_language(request) or chosen_by_button(request)):
        info = request.authsite.request_info
        request.authsite.request_info = replace(info, language=language)
