"""The walk reaches every page and every form of second factors."""

from tests.support.walk import views, walked
from tests.support.walk_factor_pages import factor_pages

OWN = ("authsite.account.factors", "authsite.login.factor")


def test_every_page_and_form_answers(site_with):
    site = site_with(limits="on")
    with walked(site) as seen:
        factor_pages(site)
    own = {(name, method) for name, method in views(site) if name.startswith(OWN)}
    assert len(own) > 30
    assert own - seen == set()
