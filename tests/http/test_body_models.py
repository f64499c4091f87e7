"""Rules that hold for the fields of all models of bodies, and of forms."""

import json
from urllib.parse import urlencode

import pytest

from authsite.platform.http.bodies import Body, Malformed, validate
from authsite.platform.http.errors import ValidationFailed
from tests.support.endpoints import FORM, JSON
from tests.support.site import bearer


def subclasses(model):
    yield model
    for each in model.__subclasses__():
        yield from subclasses(each)


def kinds_of(model):
    """The name of each field, and what its value may be, as JSON Schema."""
    for name, shown in model.model_json_schema().get("properties", {}).items():
        yield name, [shown, *shown.get("anyOf", ())]


def test_every_pattern_of_a_body_has_its_rule_in_words():
    """Another text than the pattern wants is one plain text, too."""
    with_pattern = set()
    for model in subclasses(Body):
        for name, kinds in kinds_of(model):
            if any("pattern" in kind for kind in kinds):
                metadata = model.model_fields[name].metadata
                assert any(isinstance(part, Malformed) for part in metadata), (model, name)
                with_pattern.add(name)
    assert "code_verifier" in with_pattern


@pytest.mark.parametrize("value", ["true", "false", 1, 0, [], {}])
def test_a_flag_of_json_is_a_boolean_alone(value):
    """Every flag of every body; the texts are those of a form."""
    flags = [
        (model, name)
        for model in subclasses(Body)
        for name, kinds in kinds_of(model)
        if any(kind.get("type") == "boolean" for kind in kinds)
    ]
    assert {"end_others", "after_password", "revoke_tokens"} <= {name for _, name in flags}
    for model, name in flags:
        with pytest.raises(ValidationFailed) as refused:
            validate({name: value}, model, JSON)
        assert ("invalid", name) in {(each.code, each.field) for each in refused.value.details}


@pytest.mark.parametrize(("content_type", "status"), [(FORM, 204), (JSON, 422)])
def test_the_media_type_decides_what_a_flag_is(site, content_type, status):
    site.user()
    keys = site.client()
    ended, present = site.login(keys), site.login(keys)
    headers = bearer(present["access_token"]) | {"Content-Type": content_type}
    listed = site.http.get("/v1/user/sessions", headers=headers).json["sessions"]
    [path] = [f"/v1/user/sessions/{each['id']}" for each in listed if not each["current"]]
    sent = {"revoke_tokens": "true"}
    body = urlencode(sent) if content_type == FORM else json.dumps(sent)
    site.http.delete(path, body, headers=headers, status=status)
    site.me(ended["access_token"], status=401 if status == 204 else 200)
