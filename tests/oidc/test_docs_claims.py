"""The claims that docs/openid-requests.md adds: "openid-requests" is a page of tests/settings."""

from authsite.oauth.oidc.id_tokens import user_claims
from authsite.users.account import account_of
from authsite.users.models import User
from tests.support import guides
from tests.support.acting import acting


def test_an_application_that_includes_authsite_adds_its_claims(host_with):
    [block] = [each for each in guides.blocks("openid-requests") if each.language == "python"]
    departments = {}

    def build(config):
        names = {"config": config, "departments": departments}
        exec(block.text, names)  # noqa: S102  what the page shows

    site = host_with(build)
    user_id = site.user().id
    departments[user_id] = "R&D"
    with site.db() as db:
        ctx = acting(db, site.app.registry["authsite"])
        account = account_of(db.get(User, user_id))
        assert user_claims(ctx, account, ["openid", "profile"])["department"] == "R&D"
        assert "department" not in user_claims(ctx, account, ["openid"])
