"""static-folder: a site's own files, and nothing else, with headers that make them harmless."""

import os

import pytest

from authsite.platform.settings import SettingsError
from tests.support.host import HostSite
from tests.support.site import Site

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "public"
    (root / "deep/.git").mkdir(parents=True)
    (root / "logo.svg").write_text(SVG)
    (root / "deep/style.css").write_text("p {}")
    (root / "deep/.git/config").write_text("hidden")
    (root / ".htpasswd").write_text("hidden")
    (root / "notes").write_text("?")
    (tmp_path / "secret.txt").write_text("outside")
    return root


@pytest.fixture
def branded(site_with, folder):
    return site_with(static_folder=str(folder))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("logo.svg", "image/svg+xml"),
        ("deep/style.css", "text/css; charset=utf-8"),
        ("notes", "application/octet-stream"),
    ],
)
def test_a_file_is_served_with_its_type_and_without_guessing(branded, name, kind):
    answer = branded.http.get(f"/authsite/files/{name}")
    assert answer.headers["Content-Type"] == kind
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "public, max-age=300"


@pytest.mark.control("S08")
def test_an_svg_that_is_opened_by_itself_cannot_run_its_scripts(branded):
    [policy] = branded.http.get("/authsite/files/logo.svg").headers.getall(
        "Content-Security-Policy"
    )
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "script-src" not in rules
    assert "unsafe" not in policy


def test_webmail_may_show_a_logo(branded):
    headers = branded.http.get("/authsite/files/logo.svg").headers
    assert headers.getall("Cross-Origin-Resource-Policy") == ["cross-origin"]


def test_a_file_is_not_sent_again_to_who_has_it(branded):
    tag = branded.http.get("/authsite/files/logo.svg").headers["ETag"]
    again = branded.http.get("/authsite/files/logo.svg", headers={"If-None-Match": tag}, status=304)
    assert again.headers.getall("Cross-Origin-Resource-Policy") == ["cross-origin"]


@pytest.mark.parametrize(
    "name",
    [
        *("", "deep", "deep/", "logo.svg/", "none.svg", "logo.svg%00", "LOGO.SVG"),
        *(".htpasswd", "deep/.git/config", "./logo.svg", "deep/../logo.svg"),
        *("../secret.txt", "%2e%2e/secret.txt", "..%2fsecret.txt", "..%5csecret.txt"),
        *("/etc/passwd", "%2fetc%2fpasswd", "//etc/passwd"),
    ],
)
def test_there_is_nothing_but_the_files_themselves(branded, name):
    branded.http.get(f"/authsite/files/{name}", status=404)


def test_files_are_only_read(branded):
    answer = branded.http.post("/authsite/files/logo.svg", status=405)
    assert answer.headers["Allow"] == "GET, HEAD"


def test_without_the_setting_there_is_no_such_path(site):
    site.http.get("/authsite/files/logo.svg", status=404)


def test_a_link_out_of_the_folder_stops_the_start(database_url, folder):
    os.symlink(folder.parent / "secret.txt", folder / "innocent.txt")
    with pytest.raises(SettingsError, match=r"innocent\.txt is a symbolic link .* copy the file"):
        Site(database_url, static_folder=str(folder))


def test_a_link_to_a_folder_outside_is_not_followed(site_with, folder):
    (folder.parent / "other").mkdir()
    (folder.parent / "other/x.txt").write_text("outside")
    os.symlink(folder.parent / "other", folder / "other")
    site = site_with(static_folder=str(folder))
    site.http.get("/authsite/files/other/x.txt", status=404)


def test_links_inside_the_folder_work_as_kubernetes_makes_them(site_with, tmp_path):
    (tmp_path / "..2026_11_22").mkdir()
    (tmp_path / "..2026_11_22/logo.svg").write_text(SVG)
    os.symlink("..2026_11_22", tmp_path / "..data")
    os.symlink("..data/logo.svg", tmp_path / "logo.svg")
    site = site_with(static_folder=str(tmp_path))
    site.http.get("/authsite/files/logo.svg", status=200)
    site.http.get("/authsite/files/..data/logo.svg", status=404)


@pytest.mark.parametrize("missing", ["none", "secret.txt"])
def test_a_folder_that_is_none_stops_the_start(database_url, folder, missing):
    with pytest.raises(SettingsError, match=r"static-folder.*there is no such folder"):
        Site(database_url, static_folder=str(folder.parent / missing))


def test_a_folder_that_is_too_large_stops_the_start(database_url, folder):
    with open(folder / "film.mp4", "wb") as film:
        film.truncate(21 << 20)
    with pytest.raises(SettingsError, match=r"more than 20 MiB; move large ones away"):
        Site(database_url, static_folder=str(folder))


@pytest.mark.parametrize("key", ["site_logo", "site_icon", "support_url"])
def test_a_setting_that_names_a_missing_file_stops_the_start(database_url, folder, key):
    with pytest.raises(SettingsError, match=r"'logo\.png': there is no such file in static-folder"):
        Site(database_url, static_folder=str(folder), **{key: "logo.png"})
    with pytest.raises(SettingsError, match=r"give https://…, a path that begins with /"):
        Site(database_url, **{key: "www.example.org"})


def test_a_host_below_a_prefix_has_its_files_there(database_url, folder):
    host = HostSite(
        database_url, lambda config: None, prefix="auth", static_folder=str(folder),
        site_logo="logo.svg", site_icon="logo.svg", base_url="https://a.example/app",
    )  # fmt: skip
    page = host.http.get("/auth/login", extra_environ={"SCRIPT_NAME": "/app"})
    assert page.html.select_one(".brand img")["src"] == "/app/auth/authsite/files/logo.svg"
    assert page.html.select_one("link[rel=icon]")["href"] == "/app/auth/authsite/files/logo.svg"
    host.http.get("/auth/authsite/files/logo.svg", status=200)
    host.database.dispose()
