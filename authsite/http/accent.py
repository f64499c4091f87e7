"""The CSS that setting `accent-color` adds to the stylesheet of the pages.

The Content-Security-Policy forbids inline styles, so the stylesheet itself contains the accent
color and the colors that are computed from it.
"""

from authsite.colors import (
    BLACK,
    READABLE,
    VISIBLE,
    WHITE,
    contrast,
    mixed,
    readable_on,
    towards,
)

# The backgrounds in the stylesheet, for the light and the dark color scheme.
LIGHT = ("#fff", "#f3f4f6", "#eef0f4")
DARK = ("#181b20", "#101216", "#22262d")
_DEEPER = 0.14  # the share of black or white in ``--accent-deep``


def accent_css(color: str | None) -> bytes:
    """The text to append to ``authsite.css`` and ``docs.css``; empty without an accent color."""
    if color is None:
        return b""
    light = _custom_properties(color, towards(color, BLACK, LIGHT, READABLE), LIGHT[0])
    on_dark = towards(color, WHITE, DARK[:1], VISIBLE)
    dark = _custom_properties(on_dark, towards(color, WHITE, DARK, READABLE), DARK[0])
    return (f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n").encode()


def _custom_properties(fill: str, text: str, background: str) -> str:
    on_fill = readable_on(fill)
    deep = mixed(fill, BLACK if on_fill == WHITE else WHITE, _DEEPER)
    # A button whose color is too close to the background is visible only with a border.
    border = fill if contrast(fill, background) >= VISIBLE else text
    return (
        f"--accent:{fill};--accent-deep:{deep};--accent-edge:{border};"
        f"--on-accent:{on_fill};--accent-text:{text}"
    )
