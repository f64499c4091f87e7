"""Whatever color a site chooses, its pages stay readable in both schemes."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import authsite
from authsite.platform.runtime.colors import (
    DARK,
    LIGHT,
    READABLE,
    VISIBLE,
    accent_css,
    contrast,
    readable_on,
)

COLOURS = st.from_regex(r"#([0-9a-f]{3}|[0-9a-f]{6})", fullmatch=True)
STYLESHEET = (Path(authsite.__file__).parent / "static/styles/base.css").read_text()


def tokens(css):
    """The tokens of both schemes, light first."""
    return [dict(re.findall(r"--([a-z-]+):\s*(#[0-9a-f]+)", part)) for part in css.split("@media")]


def test_contrast_is_what_wcag_says():
    assert contrast("#000", "#fff") == pytest.approx(21)
    assert contrast("#fff", "#777777") == pytest.approx(4.48, abs=0.01)
    assert contrast("#fff", "#fff") == 1


@given(COLOURS)
def test_black_or_white_can_be_read_on_every_color(color):
    assert contrast(readable_on(color), color) >= READABLE


@given(COLOURS)
def test_every_color_makes_links_and_buttons_that_can_be_read(color):
    for scheme, grounds in zip(tokens(accent_css(color).decode()), (LIGHT, DARK), strict=True):
        assert all(contrast(scheme["accent-text"], ground) >= READABLE for ground in grounds)
        for fill in ("accent", "accent-deep"):
            assert contrast(scheme["on-accent"], scheme[fill]) >= READABLE


@given(COLOURS)
def test_every_button_is_seen_as_one(color):
    for scheme, grounds in zip(tokens(accent_css(color).decode()), (LIGHT, DARK), strict=True):
        assert contrast(scheme["accent-edge"], grounds[0]) >= VISIBLE


def test_in_the_light_the_buttons_have_exactly_the_color_that_was_chosen():
    assert tokens(accent_css("#ffcc00").decode())[0]["accent"] == "#ffcc00"


def test_a_site_without_a_color_keeps_the_stylesheets_own():
    assert accent_css(None) == b""


def test_the_grounds_are_those_of_the_stylesheet():
    light, dark = tokens(STYLESHEET.partition("/* Elements */")[0])[:2]
    for scheme, grounds in ((light, LIGHT), (dark, DARK)):
        assert [scheme[name] for name in ("surface", "bg", "hover")] == list(grounds)


def test_the_stylesheets_own_colors_can_be_read():
    for scheme in tokens(STYLESHEET.partition("/* Elements */")[0])[:2]:
        grounds = [scheme[name] for name in ("surface", "bg", "sunken", "hover")]
        for name in ("text", "muted", "accent-text"):
            assert all(contrast(scheme[name], ground) >= READABLE for ground in grounds), name
        for fill in ("accent", "accent-deep"):
            assert contrast(scheme["on-accent"], scheme[fill]) >= READABLE
        for name in ("bad", "good"):
            soft = scheme[f"{name}-soft"]
            for ground in (scheme["surface"], scheme["bg"], soft):
                assert contrast(scheme[name], ground) >= READABLE, name
            assert contrast(scheme["text"], soft) >= READABLE
        assert contrast(scheme["fair"], scheme["surface"]) >= READABLE
        assert contrast(scheme["edge"], scheme["surface"]) >= VISIBLE
