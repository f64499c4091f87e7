"""A Django application with django-oauth-toolkit as a resource server, as its documentation has it.

``python -m tests.support.django_resource URL CLIENT_ID CLIENT_SECRET``: it knows the superuser
ceo@corp.example, reads access tokens from the standard input, one a line, and writes for each who
its stock ``OAuth2Authentication`` says that the caller is.
"""

import json
import sys

import django
from django.conf import settings

CEO = "ceo@corp.example"
urlpatterns = []


def configure(url, client_id, client_secret):
    settings.configure(
        SECRET_KEY="only for a test",
        ALLOWED_HOSTS=["testserver"],
        ROOT_URLCONF=__name__,
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "oauth2_provider",
            "rest_framework",
        ],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        USE_TZ=True,
        OAUTH2_PROVIDER={
            "RESOURCE_SERVER_INTROSPECTION_URL": f"{url}/v1/oauth/introspect",
            "RESOURCE_SERVER_INTROSPECTION_CREDENTIALS": (client_id, client_secret),
        },
    )
    django.setup()


def main():
    configure(*sys.argv[1:])
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from django.test import Client
    from django.urls import path
    from oauth2_provider.contrib.rest_framework import OAuth2Authentication
    from rest_framework.decorators import api_view, authentication_classes, permission_classes
    from rest_framework.response import Response

    @api_view()
    @authentication_classes([OAuth2Authentication])
    @permission_classes([])
    def me(request):
        user, token = request.user, request.auth
        return Response(
            {
                "token": token is not None,
                "user": user and (user.get_username() or None),
                "superuser": bool(user and user.is_superuser),
            }
        )

    urlpatterns.append(path("me", me))
    call_command("migrate", verbosity=0)
    get_user_model().objects.create_superuser(CEO, CEO, "a password of Django")
    for line in sys.stdin:
        answer = Client().get("/me", headers={"Authorization": f"Bearer {line.strip()}"})
        print(json.dumps(answer.json()))


if __name__ == "__main__":
    main()
