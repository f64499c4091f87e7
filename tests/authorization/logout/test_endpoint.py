"""Where ``/oauth/logout`` is, and that the metadata name it."""

from authsite.platform.settings import new_sealing_key
from tests.support.authorizing import BASE, OPENID
from tests.support.signing_out import PATH


def test_it_is_at_the_first_address_alone(site_with, request):
    site = site_with(base_url=f"{BASE} https://second.example.com")
    answer = site.http.get("https://second.example.com/oauth/logout?state=a", status=302)
    assert answer.location == f"{PATH}?state=a"
    answer = site.http.post("https://second.example.com/oauth/logout", {"state": "a"}, status=303)
    assert answer.location == f"{PATH}?state=a"


def test_with_openid_off_there_is_no_such_page(site_with):
    site = site_with(base_url=BASE, openid="off")
    site.http.get(PATH, status=404)
    site.http.post(PATH, status=404)


def test_the_metadata_name_it(issuer):
    """rp-initiated-logout-discovery-endpoint-verification"""
    found = issuer.http.get(f"{BASE}/.well-known/openid-configuration").json
    assert found["end_session_endpoint"] == PATH


def test_without_a_usable_key_the_answer_is_a_page_with_503(site_with, sites):
    """`/logout` works as ever."""
    site = site_with(**OPENID, sealing_key=new_sealing_key())
    site.http.get(PATH, status=200)
    other = sites(**OPENID, sealing_key=new_sealing_key())
    page = other.http.get(PATH, status=503)
    assert page.content_type == "text/html"
    assert "Retry-After" in page.headers
    other.http.post(PATH, {"decision": "sign_out"}, status=503)
    other.http.get(f"{BASE}/logout", status=200)
