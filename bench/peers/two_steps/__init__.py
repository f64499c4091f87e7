"""django-allauth: logins with a password and the code of an authenticator app."""
