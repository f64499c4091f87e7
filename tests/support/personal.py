"""Personal access tokens in tests."""

from sqlalchemy import select

from authsite.oauth.models import PersonalToken
from tests.support.site import PASSWORD, bearer

PATH = "/v1/user/tokens"


def create(site, login, status=201, **fields):
    """POST /v1/user/tokens with the access token ``login``; the answer."""
    body = {"name": "backup", "current_password": PASSWORD, **fields}
    return site.http.post_json(PATH, body, headers=bearer(login), status=status)


def created(site, login, **fields):
    """A new token as text."""
    return create(site, login, **fields).json["token"]


def listed(site, login):
    """The tokens in the list of the user of ``login``."""
    return site.http.get(PATH, headers=bearer(login)).json["tokens"]


def revoke(site, login, id_, status=204):
    """DELETE /v1/user/tokens/{id}."""
    return site.http.delete(f"{PATH}/{id_}", headers=bearer(login), status=status)


def errors(answer):
    """The codes and fields of an error body."""
    return [(item["code"], item["field"]) for item in answer.json["errors"]]


def with_ann(site):
    """The site with Ann, her login and her personal access token."""
    site.ann = site.user(confirmed=True)
    site.keys = site.first_party("web", scope="a b", default_scope="a")
    site.login_of_ann = site.login(site.keys)["access_token"]
    site.personal = created(site, site.login_of_ann, scope="a")
    return site


def personal_id(site):
    """The id of the only personal access token."""
    with site.db() as db:
        return db.scalars(select(PersonalToken.id)).one()
