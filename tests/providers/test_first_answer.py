"""The first way to a provider in a process, which has to ask it for its discovery."""

from tests.providers.people import come_back, send, signed_in_as
from tests.support.site import PASSWORD


def test_no_request_is_sent_inside_the_transaction_of_the_button(providers, site_of):
    """`outbound.send` refuses that: counted limits and a checked password would be in it."""
    fake = providers("oidc", "corp")
    site = site_of((fake, {"trust-email": "on"}), limits="on")
    site.user("linker@example.com", confirmed=True)
    page = site.http.get("/login")
    form = next(each for each in page.forms.values() if each.action.endswith("/login"))
    form["username"], form["password"] = "linker@example.com", PASSWORD
    assert form.submit().status_int == 303
    page = site.http.get("/account/security")
    assert send(page, "/login/with/corp", current_password=PASSWORD).status_int == 200

    site = site_of(fake, limits="on", empty=False)
    assert come_back(site, fake).status_int == 303
    assert signed_in_as(site) is None
