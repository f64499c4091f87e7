"""Forms of our pages: one request for each cause of a rejection."""

from tests.support.pages import csrf_of, sign_in

from .cases import Denied, case
from .token_cases import NONE

LOGIN = "https://auth.example.com/login"


def post(world, form, shown=NONE, headers=None):
    return Denied(world.site.http.post(LOGIN, form, headers=headers, status="*"), shown)


@case("form.foreign_origin")
def foreign_origin(world):
    evil = "https://evil.example"
    shown = {"sent": evil, "expected": "https://auth.example.com"}
    return post(world, {}, shown, {"Origin": evil})


@case("form.no_cookie")
def no_cookie(world):
    return post(world, {"csrf_token": "0" * 64})


@case("form.other_session")
def other_session(world):
    world.site.http.get(LOGIN)
    return post(world, {"csrf_token": "0" * 64})


@case("form.signed_in")
def signed_in(world):
    world.site.user(confirmed=True)
    world.site.user("bo@example.com")
    old = csrf_of(world.site.http.get(LOGIN))
    sign_in(world.site)
    return post(world, {"csrf_token": old, "username": "bo@example.com", "password": "x"})
