"""Static files: an address that changes with the content, and is kept for a year."""

import gzip
import shutil

import pytest
from webob import Request

from authsite.platform.http.own_files import FOLDER, asset_path, load

CSS = "docs.css"


@pytest.fixture
def address(site):
    """The address of a static file, as the pages write it."""
    found = site.http.get("/docs").html.find_all("link", rel="stylesheet")[-1]["href"]
    assert found.endswith(f"/{CSS}")
    return found


def stale(address):
    """The address that another release would have."""
    _, _, _, fingerprint, name = address.split("/")
    return f"/authsite/static/{fingerprint[::-1]}/{name}"


def test_a_right_address_may_be_kept_for_a_year(site, address):
    answer = site.http.get(address)
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer.headers["Content-Type"] == "text/css; charset=utf-8"
    assert "Pragma" not in answer.headers
    assert "Set-Cookie" not in answer.headers


def test_another_releases_address_works_and_is_not_kept(site, address):
    answer = site.http.get(stale(address))
    assert answer.headers["Cache-Control"] == "public, no-cache"
    assert answer.body == site.http.get(address).body


def test_the_answer_is_compressed_for_who_takes_that(site, address):
    plain = site.http.get(address)
    assert "Content-Encoding" not in plain.headers
    packed = raw(site, address, "br;q=0.5, gzip")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) < len(plain.body) / 2
    assert packed.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize("accepted", ["identity", "gzip;q=0", "br", "", "rubbish,,;"])
def test_who_does_not_take_gzip_gets_the_plain_file(site, address, accepted):
    answer = raw(site, address, accepted)
    assert "Content-Encoding" not in answer.headers
    assert answer.body.startswith(b"/*")


def raw(site, address, accepted):
    """The answer as it is on the wire; WebTest would unpack it."""
    headers = {"Accept-Encoding": accepted}
    return Request.blank(address, headers=headers).get_response(site.app)


def test_each_form_has_a_validator_of_its_own(site, address):
    plain, packed = site.http.get(address), raw(site, address, "gzip")
    assert plain.headers["ETag"] != packed.headers["ETag"]
    for tag, accepted in ((plain.headers["ETag"], "identity"), (packed.headers["ETag"], "gzip")):
        sent = {"If-None-Match": tag, "Accept-Encoding": accepted}
        answer = site.http.get(address, headers=sent)
        assert (answer.status_int, answer.body) == (304, b"")
        assert answer.headers["Vary"] == "Accept-Encoding"


def test_head_says_the_same_without_the_body(site, address):
    head, get = site.http.head(address), site.http.get(address)
    assert head.body == b""
    assert head.headers["Content-Length"] == get.headers["Content-Length"]
    assert head.headers["ETag"] == get.headers["ETag"]


def test_static_files_carry_the_headers_of_every_answer(site, address):
    answer = site.http.get(address)
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer.headers["X-Request-Id"]


@pytest.mark.parametrize(
    "name",
    [
        *("none.css", "", "client", "client/", "docs.css/", "docs.css%00", "client/../docs.css"),
        *("../__init__.py", "%2e%2e/__init__.py", "..%2f__init__.py"),
        *("/etc/passwd", "%2fetc%2fpasswd"),
    ],
)
def test_there_is_nothing_but_the_files_themselves(site, address, name):
    folder = address.removesuffix(CSS)
    answer = site.http.get(folder + name, status=404)
    assert answer.headers["Cache-Control"] == "no-store"


def test_static_files_are_only_read(site, address):
    assert site.http.post(address, status=405).headers["Allow"] == "GET, HEAD"


def test_the_address_changes_when_any_file_does(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.css").write_text("body {}")
    (tmp_path / "deep" / "b.js").write_text("1")
    before = load(tmp_path, {})
    assert set(before.files) == {"a.css", "deep/b.js"}
    assert load(tmp_path, {}).fingerprint == before.fingerprint
    (tmp_path / "deep" / "b.js").write_text("2")
    changed = load(tmp_path, {}).fingerprint
    assert changed != before.fingerprint
    (tmp_path / "deep" / "b.js").rename(tmp_path / "deep" / "c.js")
    assert load(tmp_path, {}).fingerprint not in (before.fingerprint, changed)


def test_a_file_that_would_not_shrink_is_sent_as_it_is(tmp_path):
    (tmp_path / "a.css").write_text("a{}")
    (tmp_path / "b.woff2").write_bytes(b"w" * 1000)
    files = load(tmp_path, {}).files
    assert files["a.css"].gzipped is None
    assert files["b.woff2"].gzipped is None
    assert files["b.woff2"].content_type == "font/woff2"


def test_a_page_that_names_no_file_of_ours_fails_at_once(site):
    from pyramid.scripting import prepare

    with prepare(registry=site.app.registry) as environment:
        request = environment["request"]
        assert asset_path(request, CSS).endswith(f"/{CSS}")
        with pytest.raises(LookupError, match=r"none\.css"):
            asset_path(request, "none.css")


@pytest.mark.parametrize(("file", "served"), [("styles/page.css", "authsite.css"), (CSS, CSS)])
def test_a_changed_stylesheet_shows_at_once_where_assets_are_reloaded(
    site, tmp_path, monkeypatch, file, served
):
    folder = shutil.copytree(FOLDER, tmp_path / "static", ignore=lambda *_: ["swagger-ui"])
    monkeypatch.setattr("authsite.platform.http.own_files.FOLDER", folder)
    monkeypatch.setitem(site.app.registry.settings, "pyramid.reload_assets", True)
    before = site.http.get(f"/authsite/static/x/{served}").text
    with (folder / file).open("a") as stylesheet:
        stylesheet.write("b {}")
    after = site.http.get(f"/authsite/static/x/{served}").text
    assert after.replace("b {}", "").split() == before.split()
    assert after != before


@pytest.mark.parametrize(
    "part", ["bytes=-", "bytes=0-1", "bytes=9-", "bytes=-5", "rubbish", "bytes=0-1,3-4"]
)
def test_no_parts_are_answered_whatever_range_asks_for(site, address, part):
    """A server may ignore Range (RFC 9110, section 14.2); ``bytes=-`` was a 500."""
    whole = site.http.get(address).body
    answer = site.http.get(address, headers={"Range": part}, status=200)
    assert answer.body == whole
