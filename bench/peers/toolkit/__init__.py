"""django-oauth-toolkit as an OpenID Provider, which the peers' program does not measure."""
