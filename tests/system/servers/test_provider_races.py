"""Two server processes on one database, to which persons return from a provider at once."""

import re
from urllib.parse import urlsplit

import httpx
import pytest
from bs4 import BeautifulSoup

from tests.providers.people import identities, users
from tests.support import databases
from tests.support.fake_provider import fake_provider
from tests.support.pair import pair
from tests.support.together import together

pytestmark = [pytest.mark.slow, pytest.mark.both_databases(each_value=True)]
HOST = "localhost"


class Browser:
    """A browser whose requests one of the servers gets; it keeps cookies."""

    def __init__(self, server):
        self.http = httpx.Client(base_url=server.base_url, headers={"Host": HOST})

    def get(self, url):
        parts = urlsplit(url)
        return self.http.get(f"{parts.path}?{parts.query}")

    def send(self, page, path, **fields):
        """Send the form of a page whose path ends with ``path``; the answer."""
        found = BeautifulSoup(page.text, "html.parser")
        form = found.find("form", action=re.compile(f"{path}$"))
        values = {each["name"]: each.get("value", "") for each in form.select("input[name]")}
        return self.http.post(urlsplit(form["action"]).path, data={**values, **fields})

    def go(self, fake):
        """The URL with which this person comes back from the provider."""
        page = self.http.get(f"/login/with/{fake.name}")
        answer = self.send(page, f"/login/with/{fake.name}")
        link = BeautifulSoup(answer.text, "html.parser").select_one("a.button.primary")
        return fake.authorize(link["href"])


@pytest.fixture
def fake():
    with fake_provider("oidc", "corp") as fake:
        yield fake


@pytest.fixture
def two(backend, tmp_path, fake):
    given = fake.settings(trust_email="on")
    settings = {name: str(value).replace("%", "%%") for name, value in given.items()}
    with pair(
        backend, tmp_path, base_url=f"http://{HOST}", providers="corp", **settings
    ) as servers:
        databases.empty(servers.site.database)
        yield servers


def browsers(two, number):
    return [Browser((two.one, two.other)[each % 2]) for each in range(number)]


def test_a_new_identity_that_arrives_many_times_at_once_makes_one_user(two, fake):
    people = browsers(two, 4)  # two for each process: it sends a provider no more at a time
    returns = [person.go(fake) for person in people]
    arrived = together(
        *(lambda p=p, url=url: p.get(url) for p, url in zip(people, returns, strict=True))
    )
    assert {each.status_code for each in arrived} == {303}
    pages = [
        person.get(each.headers["Location"]) for person, each in zip(people, arrived, strict=True)
    ]
    created = together(
        *(
            lambda p=p, page=page: p.send(page, "/create")
            for p, page in zip(people, pages, strict=True)
        )
    )
    assert [each.status_code for each in created].count(303) >= 1
    assert max(each.status_code for each in created) < 500
    assert (len(users(two.site)), len(identities(two.site))) == (1, 1)


def test_of_one_return_that_is_sent_many_times_at_once_one_counts(two, fake):
    person, other = browsers(two, 2)
    url = person.go(fake)
    other.http.cookies.update(person.http.cookies)
    answers = together(*(lambda p=p: p.get(url) for p in [person, other] * 4))
    assert sorted(each.status_code for each in answers) == [303] + [400] * 7
