"""A code is the same however a keyboard, a clipboard or a mail program writes it."""

import pytest

from authsite.oauth.device import service as device
from authsite.platform.runtime.lines import typed_code
from authsite.sign_in.methods.mail_code import codes as mailed
from authsite.sign_in.methods.recovery_codes import service as recovery
from authsite.sign_in.methods.totp import enrollment as totp
from authsite.sign_in.methods.totp.enrollment import otpauth_uri

DIGITS = [
    "076123", "٠٧٦١٢٣", "۰۷۶۱۲۳", "０７６１２３", "०७६१२३", "\u200e076123\u200f", "076 123",
    "076\u00a0123", "076\u2009123", "076-123", "076–123", "076—123", "076\u2011123", "076－123",
    "076\u2212123", "\ufeff076123\r\n", "\u2066076123\u2069", "\t076\u00ad123",
]  # fmt: skip


@pytest.mark.parametrize("typed", DIGITS)
def test_the_digits_of_any_script_are_a_code_of_an_app(typed):
    assert totp.read(typed) == "076123"


@pytest.mark.parametrize(
    "typed", ["07612", "0761234", "07612a", "07612½", "07612十", "", "0" * 65, "0x6123", "+76123"]
)
def test_other_text_is_none(typed):
    assert totp.read(typed) is None


@pytest.mark.parametrize("dash", ["-", "–", "—", "‑", "－", " ", "\u2212", "\u200b", "\u00a0"])
def test_recovery_codes_mailed_codes_and_user_codes(site, dash):
    code = recovery.new_code()
    groups = [code[at : at + 4] for at in range(0, 24, 4)]
    assert recovery.read(dash.join(groups).lower()) == code
    wide = "".join(chr(ord(char) + 0xFEE0) for char in code)
    assert recovery.read(wide) == code
    keys, id_ = site.app.registry["authsite"].keys, site.user().id
    shown = mailed.code_of(keys, id_)
    assert mailed.is_code(keys, id_, shown.replace("-", dash).lower())
    assert not mailed.is_code(keys, id_, f"{shown}B")
    user_code = device.new_user_code()
    assert device.shown(user_code.replace("-", dash)) == user_code


def test_only_what_people_add_is_left_out():
    assert typed_code("a.b_c/d\u0301") == "a.b_c/d\u0301"


@pytest.mark.parametrize(
    ("site_name", "issuer"),
    [
        ("A: B", "A%20B"),
        ("Café «Müller» & Co: Login", "Caf%C3%A9%20%C2%ABM%C3%BCller%C2%BB%20%26%20Co%20Login"),
    ],
)
def test_no_colon_is_in_issuer_and_label_of_an_app(site_name, issuer):
    uri = otpauth_uri(site_name, "ann@example.com", "ABC")
    assert uri == f"otpauth://totp/{issuer}:ann%40example.com?secret=ABC&issuer={issuer}"
