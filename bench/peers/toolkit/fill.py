"""``python fill.py FOLDER``: users, an application, tokens; ``… COUNT``: this number of codes."""

import datetime
import os
import secrets
import sys
from pathlib import Path
from urllib.parse import urlencode

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"

import django

django.setup()

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from oauth2_provider.models import AccessToken, Application, Grant

SCOPE, CALLBACK = "openid email profile", "https://client.example/callback"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"  # of RFC 7636, appendix B
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
STORED = 20_000
EXPIRES = timezone.now() + datetime.timedelta(days=1)


def fill(folder):
    """The database, and the file of tokens."""
    call_command("migrate", verbosity=0)
    model = get_user_model()
    names = [f"person{number}" for number in range(100)]
    model.objects.bulk_create(
        [model(username=name, email=f"{name}@example.com", first_name=name) for name in names]
    )
    application = Application.objects.create(
        client_id="web", client_secret="secretsecret", hash_client_secret=False, name="web",
        client_type=Application.CLIENT_CONFIDENTIAL, redirect_uris=CALLBACK, algorithm="RS256",
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
    )  # fmt: skip
    people = list(model.objects.all())
    tokens = [
        AccessToken(
            user=people[number % 100], token=secrets.token_hex(16), application=application,
            expires=EXPIRES, scope=SCOPE,
        )
        for number in range(STORED)
    ]  # fmt: skip
    for each in tokens:
        each.token_checksum = AccessToken._meta.get_field("token_checksum").pre_save(each, True)
    AccessToken.objects.bulk_create(tokens, batch_size=2000)
    connection.cursor().execute("ANALYZE")
    (folder / "tokens.toolkit").write_text("".join(f"{each.token}\n" for each in tokens[::20]))


def codes(folder, count):
    """A file of exchanges, never twice of one user in a row."""
    people, application = list(get_user_model().objects.all()), Application.objects.get()
    made = [
        Grant(
            user=people[number % 100], code=secrets.token_hex(16), application=application,
            expires=EXPIRES, redirect_uri=CALLBACK, scope=SCOPE, code_challenge=CHALLENGE,
            code_challenge_method="S256", nonce="n",
        )
        for number in range(count)
    ]  # fmt: skip
    Grant.objects.bulk_create(made, batch_size=2000)
    tail = urlencode(
        {
            "grant_type": "authorization_code",
            "redirect_uri": CALLBACK,
            "code_verifier": VERIFIER,
        }
    )
    (folder / "codes.toolkit").write_text("".join(f"code={each.code}&{tail}\n" for each in made))


if __name__ == "__main__":
    if len(sys.argv) == 2:
        fill(Path(sys.argv[1]))
    else:
        codes(Path(sys.argv[1]), int(sys.argv[2]))
