"""A tool asks, a person enters its code and allows it, and the tool gets its tokens (RFC 8628)."""

from tests.support.codes import claims_of
from tests.support.devices import enter, poll, press, refused, rows, start, tool


def test_the_whole_way(site):
    app = tool(site)
    started = start(site, app)
    assert refused(site, app, started) == "authorization_pending"
    question = enter(site, started)
    assert "Did you start this?" in question.text
    done = press(site, question, "allow")
    assert "close this window" in done.text
    tokens = poll(site, app, started)
    assert set(tokens) == {
        "token_type", "expires_in", "access_token", "refresh_token", "scope", "id_token",
    }  # fmt: skip
    assert tokens["scope"] == "openid email"
    assert claims_of(tokens["id_token"])["aud"] == app.client_id
    [family], [row] = site.families(), rows(site)
    assert family.id == row.id
