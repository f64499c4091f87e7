"""The views of docs/login-python.md in a separate process: prints who is signed in."""

import json
import sys
import urllib.request
from urllib.parse import urlsplit

import django
from django.conf import settings
from django.core.management import call_command
from django.http import JsonResponse
from django.test import Client
from django.urls import path

settings.configure(
    ALLOWED_HOSTS=["*"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    INSTALLED_APPS=[
        "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    ROOT_URLCONF=__name__,
    SECRET_KEY="of a test",
)  # fmt: skip
django.setup()


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def where_next(url):
    """The target of a redirect."""
    opener = urllib.request.build_opener(NoRedirects)
    try:
        opener.open(url)
    except urllib.error.HTTPError as answer:
        return answer.headers["Location"]


names = {"__name__": __name__, **json.load(sys.stdin)}
exec(names.pop("block"), names)  # noqa: S102  ours
urlpatterns = [
    path("sign-in", names["sign_in"]),
    path("signed-in", names["signed_in"]),
    path("me", lambda request: JsonResponse({"user": request.user.username})),
]
call_command("migrate", verbosity=0)
browser = Client()
start = browser.get("/sign-in", {"next": "/me"})
before = browser.cookies["sessionid"].value
back = urlsplit(where_next(start["Location"]))
answer = browser.get(f"{back.path}?{back.query}")
print(
    json.dumps(
        {
            "next": answer["Location"],
            "user": browser.get("/me").json()["user"],
            "new session": browser.cookies["sessionid"].value != before,
        }
    )
)
