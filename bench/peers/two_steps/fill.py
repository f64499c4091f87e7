"""``python fill.py SECRET COUNT``: users with an authenticator app of this secret."""

import sys

import django

django.setup()

from allauth.mfa.models import Authenticator
from allauth.mfa.utils import encrypt
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.core.management import call_command

if __name__ == "__main__":
    secret, count = sys.argv[1], int(sys.argv[2])
    call_command("migrate", verbosity=0)
    model, hashed = get_user_model(), make_password("correct horse battery")
    model.objects.bulk_create(
        [model(username=f"app{number}", password=hashed) for number in range(count)]
    )
    Authenticator.objects.bulk_create(
        [
            Authenticator(user=user, type="totp", data={"secret": encrypt(secret)})
            for user in model.objects.all()
        ]
    )
