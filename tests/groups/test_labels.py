"""Which groups of ``users.labels`` count in a request, and where they are shown."""

import pytest
from sqlalchemy import update

from authsite.users.groups.labels import level_of, names, shown
from authsite.users.models import User
from tests.support import personal


@pytest.mark.parametrize(
    ("labels", "acr", "found"),
    [
        (None, None, ()),
        ("", "phr", ()),
        ("finance ops", None, ("finance", "ops")),
        ("finance=aal2 ops", None, ("ops",)),
        ("finance=aal2 ops", "aal1", ("ops",)),
        ("finance=aal2 ops", "aal2", ("finance", "ops")),
        ("finance=aal2 ops", "phr", ("finance", "ops")),
        ("finance=phr", "aal2", ()),
        ("finance=other", "other", ()),
        ("a:b authsite:owner", None, ("a:b",)),
        ("a:b authsite:owner", "aal1", ("a:b",)),
        ("a:b authsite:owner", "aal2", ("a:b", "authsite:owner")),
    ],
)
def test_a_group_with_a_level_counts_only_in_a_request_of_that_level(labels, acr, found):
    assert shown(labels, acr, "aal2") == found


def test_the_level_of_a_reserved_group_is_that_of_the_setting():
    label = "authsite:owner=aal1 ops=aal2"  # whatever the column says
    assert shown(label, "aal2", "phr") == ("ops",)
    assert shown(label, "phr", "phr") == ("authsite:owner", "ops")
    levels = [level_of(label, name, "phr") for name in ("authsite:owner", "ops", "other")]
    assert levels == ["phr", "aal2", None]
    assert level_of("ops=other", "ops", "phr") is None
    assert names(label) == ("authsite:owner", "ops")


def label(site, text):
    with site.db() as db:
        db.execute(update(User).where(User.email == "ann@example.com").values(labels=text))


def test_introspection_has_the_groups_of_a_user(site, payers):
    keys = site.client(scope="notes:read")
    tokens = site.login(keys)
    for kind in ("access_token", "refresh_token"):
        assert site.introspect(keys, tokens[kind])["groups"] == ["payers"]
    label(site, "finance=aal2 ops")  # not payers either: the column alone decides
    assert site.introspect(keys, tokens["access_token"])["groups"] == ["ops"]
    label(site, None)
    assert site.introspect(keys, tokens["access_token"])["groups"] == []


def test_introspection_of_a_personal_access_token_has_the_groups(site, payers):
    token = personal.created(site, site.login(site.client(scope="notes:read"))["access_token"])
    keys = site.client("resource-server")
    assert site.introspect(keys, token)["groups"] == ["payers"]


def test_introspection_of_a_token_of_no_user_has_no_groups(site):
    keys = site.client("personal")
    tokens = site.token(keys, grant_type="client_credentials").json
    for kind in ("access_token", "refresh_token"):
        assert "groups" not in site.introspect(keys, tokens[kind])
