"""Tokens of applications that use codes, and tokens for one resource.

A login with a password gets another sign-in's facts: what counts is the family, not the way to it.
"""

from uuid import UUID

from sqlalchemy import update

from authsite.oauth import resources
from authsite.oauth.models import Client, Family
from authsite.sign_in import credentials
from authsite.users import account
from tests.support.acting import acting

THIRD, FIRST = {"third_party": True}, {"third_party": False}


def set_facts(site, client_id, **about):
    """Give all families of a client these facts (`facts.pack`)."""
    text = credentials.pack(account.PASSWORD, **about)
    with site.db() as db:
        db.execute(update(Family).where(Family.client_id == UUID(client_id)).values(facts=text))


def token_of(site, scope="", email="ann@example.com", **about):
    """An access token of a separate client with exactly this scope; ``about``: `facts.pack`."""
    return tokens_of(site, scope, email, **about)[1]["access_token"]


def tokens_of(site, scope="", email="ann@example.com", **about):
    """The keys of a new client, and a token pair of it as in `token_of`."""
    keys = site.client()
    tokens = site.login(keys, email)
    set_facts(site, keys.client_id, **about)
    with site.db() as db:
        families = update(Family).where(Family.client_id == UUID(keys.client_id))
        db.execute(families.values(scope=scope, granted_scope=scope))
    return keys, tokens


def resource(site, uri, scopes="", server=None, tokens="opaque"):
    """Register a resource; ``server``: the keys of its resource server."""
    services = site.app.registry["authsite"]
    with site.db() as db:
        client_id = UUID(server.client_id) if server else None
        resources.add(acting(db, services), uri, scopes, client_id, tokens)
    return uri


def default_resource(site, keys, uri):
    """Make a resource the default of a client."""
    with site.db() as db:
        db.get(Client, UUID(keys.client_id)).default_resource = uri
