"""Connected applications on the account page."""

import pytest

from tests.support import connected
from tests.support.pages import sign_in, submit
from tests.support.statements import counted

PAGE = "/account/security"


@pytest.fixture
def ann(site_with):
    site = site_with(scopes="wiki:edit: Edit pages of the wiki")
    site.ann = site.user(confirmed=True)
    sign_in(site)
    return site


def section(site, path=PAGE):
    found = site.http.get(path).html.select_one("section[aria-labelledby=consents]")
    return found and " ".join(found.get_text(" ").split())


def test_without_an_application_there_is_no_section(ann):
    assert section(ann) is None


def test_the_section_says_what_was_allowed_since_when_and_the_last_use(ann):
    wiki, mail = connected.application(ann), connected.application(ann, "Mail <b>")
    connected.allow(ann, ann.ann, wiki, "openid wiki:edit offline_access")
    connected.allow(ann, ann.ann, mail, "")
    connected.note_use(ann, ann.ann, wiki)
    shown = section(ann)
    words = "Sign you in · Edit pages of the wiki · Keep access after you sign out Allowed"
    assert f"Wiki {words}" in shown
    assert "Mail <b> Sign you in Allowed" in shown
    assert shown.count("Last used") == shown.count("Not used yet") == 1


def test_removing_access_asks_first_and_ends_the_tokens(ann):
    wiki = connected.application(ann)
    connected.allow(ann, ann.ann, wiki)
    connected.family(ann, ann.ann, wiki)
    form = ann.http.get(PAGE).html.select_one("section[aria-labelledby=consents] details form")
    assert "is signed out everywhere" in form.get_text()
    path = f"/account/consents/{wiki}/withdraw"
    assert form["action"] == path
    for _ in range(2):  # done again it changes nothing
        answer = submit(ann, path, page=PAGE)
        assert answer.location.endswith(f"{PAGE}?done=consents")
    assert connected.consents(ann) == []
    assert connected.unrevoked(ann) == set()
    assert "Access removed" in section(ann, f"{PAGE}?done=consents")
    events = ann.http.get(PAGE).html.select_one("section[aria-labelledby=activity]").get_text()
    assert "Application allowed to sign you in" in events
    assert "Access of an application removed" in events


@pytest.mark.parametrize("client_id", ["x", "WIKI"])
def test_an_id_that_is_none_is_an_error(ann, client_id):
    answer = submit(ann, f"/account/consents/{client_id}/withdraw", page=PAGE)
    assert answer.status_int == 404


def test_it_needs_the_token_of_the_form(ann):
    wiki = connected.application(ann)
    connected.allow(ann, ann.ann, wiki)
    ann.http.post(f"/account/consents/{wiki}/withdraw", {}, status=403)
    assert len(connected.consents(ann)) == 1


def test_the_section_takes_one_query(ann):
    for number in range(5):
        connected.allow(ann, ann.ann, connected.application(ann, str(number)))
    with counted(ann.database) as statements:
        ann.http.get(PAGE)
    assert sum("FROM consents" in statement for statement in statements) == 1


def test_the_form_to_delete_the_account_counts_them(ann):
    connected.allow(ann, ann.ann, connected.application(ann))
    assert "The access of 1 connected application" in ann.http.get("/account").text
