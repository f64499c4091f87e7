"""templates-folder: a site's own templates stand for ours of the same name, mails too."""

import pytest
from bs4 import BeautifulSoup

from authsite.platform.settings import SettingsError
from tests.support.host import HostSite
from tests.support.mails import html_of, put, text_of
from tests.support.site import Site

LAYOUT = """\
{% extends "original/layout.jinja2" %}
{% block styles %}{{ super() }}
<link rel="stylesheet" href="{{ href('brand.css') }}">{% endblock %}
{% block footer %}<p id="own">{{ cfg.site_name }} & co</p>{% endblock %}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "own/login").mkdir(parents=True)
    (tmp_path / "own/mail").mkdir()
    (tmp_path / "public").mkdir()
    (tmp_path / "public/brand.css").write_text("p { color: red }")
    return tmp_path / "own"


@pytest.fixture
def own(site_with, folder):
    """A site with what the test has written into the folder."""
    return lambda **more: site_with(
        templates_folder=str(folder), static_folder=str(folder.parent / "public"), **more
    )


def write(folder, name, text):
    (folder / name).write_text(text)


@pytest.mark.parametrize("path", ["/login", "/register", "/nowhere"])
def test_a_layout_that_extends_ours_is_that_of_every_page(own, folder, path):
    write(folder, "layout.jinja2", LAYOUT)
    page = own(site_name="Sea <b>").http.get(path, status="*")
    assert page.html.find(id="own").text == "Sea <b> & co"
    assert "Sea &lt;b&gt;" in page.text
    sheets = [link["href"] for link in page.html.select("link[rel=stylesheet]")]
    assert sheets[-1] == "/authsite/files/brand.css"
    assert page.html.find("h1")


def test_a_page_may_be_replaced_as_a_whole(own, folder):
    write(folder, "login/login.jinja2", "<p>{{ url('login.page') }} {{ static('pages.js') }}</p>")
    site = own()
    assert site.http.get("/login").text.startswith("<p>/login /authsite/static/")
    assert site.http.get("/register").html.find("form")


def test_a_mail_may_be_replaced_and_keeps_our_subject_if_it_extends_ours(own, folder):
    write(
        folder,
        "mail/password_changed.txt",
        '{% extends "original/password_changed.txt" %}{% block content %}Own words.{% endblock %}',
    )
    write(folder, "mail/footer.html", "<p>Sea Ltd, Harbor 1</p>")
    site = own(site_name="Sea")
    put(site, user_id=site.user().id)
    [mail] = site.mails()
    assert "Own words." in text_of(mail)
    assert "Sea" in mail["Subject"]
    assert "<p>Sea Ltd, Harbor 1</p>" in html_of(mail)


def test_a_mail_may_have_a_subject_of_its_own(own, folder):
    write(
        folder, "mail/password_changed.txt", "{% block subject %}Own, {{ site_name }}{% endblock %}"
    )
    site = own(site_name="Sea")
    put(site, user_id=site.user().id)
    [mail] = site.mails()
    assert mail["Subject"] == "Own, Sea"


def test_in_a_host_application_they_work_as_well(database_url, folder):
    write(folder, "layout.jinja2", LAYOUT.replace("brand.css", "/brand.css"))
    host = HostSite(database_url, lambda config: None, prefix="auth", templates_folder=str(folder))
    assert host.http.get("/auth/login").html.find(id="own")
    host.database.dispose()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "login/logn.jinja2",
            "",
            r"login/logn\.jinja2 has the name of no .* login/login\.jinja2\?",
        ),
        ("notes.md", "", r"notes\.md has the name of no template of authsite"),
        ("layout.jinja2", "\n{% block x %}", r"layout\.jinja2, line 2: .*; correct it"),
    ],
)
def test_what_replaces_nothing_or_cannot_be_read_stops_the_start(
    database_url, folder, name, text, said
):
    write(folder, name, text)
    with pytest.raises(SettingsError, match=said):
        Site(database_url, templates_folder=str(folder))


def test_hidden_files_are_left_alone(own, folder):
    write(folder, ".DS_Store", "x")
    write(folder, "login/.login.jinja2.swp", "x")
    own().http.get("/login", status=200)


def test_a_folder_that_does_not_exist_stops_the_start(database_url, folder):
    with pytest.raises(SettingsError, match=r"templates-folder.*there is no such folder"):
        Site(database_url, templates_folder=str(folder / "none"))


def test_a_mail_of_a_site_s_own_needs_no_preheader(own, folder):
    """The block is new: templates from before it have only a title and a content."""
    write(
        folder,
        "mail/password_changed.html",
        '{% extends "layout.html" %}{% from "pieces.html" import button with context %}'
        "{% block content %}<p>Own words.</p>{{ button('Go') }}{% endblock %}",
    )
    site = own()
    put(site, user_id=site.user().id)
    page = BeautifulSoup(html_of(site.mails()[0]), "html.parser")
    assert page.select_one(".card p:-soup-contains('Own words.')")
    assert page.select(".preheader") == []
