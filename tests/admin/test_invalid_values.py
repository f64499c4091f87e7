"""Values that a client cannot have: refused in words that a page can translate."""

import pytest
from pyramid.i18n import TranslationString
from sqlalchemy.orm import Session

from authsite.admin.errors import InvalidClient
from authsite.oauth.clients import registration
from authsite.oauth.clients.fields import NO_FIELDS, ClientFields, seconds_of
from authsite.oauth.errors import InvalidValue
from authsite.platform.i18n import translate
from tests.support.factors import context

WEB = ["https://app.example.org/callback"]
USUAL = {"name": "App", "client_type": "server", "scope": "", "fields": NO_FIELDS}


def refused(site, **given):
    values = {**USUAL, **given}
    with Session(site.database.transactional) as db, pytest.raises(InvalidValue) as caught:
        registration.register(context(site, db), default_scope="", **values)
    return caught.value


def of_fields(**fields):
    return {"fields": ClientFields(**{"redirect_uris": WEB, **fields})}


@pytest.mark.parametrize(
    ("given", "field", "text"),
    [
        ({"name": "", **of_fields()}, "name", "the name must be one line of 1 to"),
        ({"name": "a\n", **of_fields()}, "name", "U+000A (LINE FEED), the character at place 2"),
        ({"client_type": "other"}, "type", "the type must be one of"),
        (
            {"scope": "admin:other:read", **of_fields()},
            "scope",
            "there is no scope admin:other:read",
        ),
        ({}, "redirect_uris", "needs a redirect URI"),
        (of_fields(pkce="never"), "pkce", "give one of required, optional"),
        (of_fields(id_token_lifetime=-1), "id_token_lifetime", "give 1 to 86400 seconds"),
        (of_fields(origins=WEB), "origins", "origins are for clients of type browser"),
        (of_fields(require_group="ops"), "require_group", "there is no group 'ops'"),
        (of_fields(logo="a.svg"), "logo", "set static-folder"),
        (
            of_fields(default_resource="https://a.example/"),
            "default_resource",
            "there is no resource https://a",
        ),
        (
            of_fields(redirect_uris=["https://a.example/#b"]),
            "redirect_uris",
            "leave the fragment out",
        ),
        (of_fields(redirect_uris=["http://a.example/"]), "redirect_uris", "use https; http is for"),
        (of_fields(redirect_uris=["a:/b c"]), "redirect_uris", "write blanks, backslashes"),
        (of_fields(tos_uri="ftp://a.example/"), "tos_uri", "begins with https"),
    ],
)
def test_a_refused_value_has_a_text_for_every_language(site, given, field, text):
    error = refused(site, **given)
    assert isinstance(error.message, TranslationString)
    assert text in translate(error.message)
    assert text in str(error)  # in English, for commands
    assert error.field == field
    [detail] = InvalidClient(error).details
    assert (detail.field, detail.message) == (field, error.message)


def test_a_lifetime_that_cannot_be_read_has_one_too():
    with pytest.raises(InvalidValue) as caught:
        seconds_of("soon")
    assert isinstance(caught.value.message, TranslationString)
