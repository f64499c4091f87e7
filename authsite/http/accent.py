"""The site's own colour: what `accent-color` adds to the pages' stylesheet.

No page has a style of its own (the Content-Security-Policy forbids it), so the colour and what must
be readable on it and beside it are worked out here.
"""

from authsite.colours import (
    BLACK,
    READABLE,
    VISIBLE,
    WHITE,
    contrast,
    mixed,
    readable_on,
    towards,
)

# Of the stylesheet: what the colour stands on, in both schemes.
LIGHT = ("#fff", "#f3f4f6", "#eef0f4")
DARK = ("#181b20", "#101216", "#22262d")
_DEEPER = 0.14


def accent_css(colour: str | None) -> bytes:
    """The lines for the end of ``authsite.css``; none for a site without a colour of its own."""
    if colour is None:
        return b""
    light = _tokens(colour, towards(colour, BLACK, LIGHT, READABLE), LIGHT[0])
    on_dark = towards(colour, WHITE, DARK[:1], VISIBLE)
    dark = _tokens(on_dark, towards(colour, WHITE, DARK, READABLE), DARK[0])
    return (f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n").encode()


def _tokens(fill: str, text: str, ground: str) -> str:
    on_fill = readable_on(fill)
    deep = mixed(fill, BLACK if on_fill == WHITE else WHITE, _DEEPER)
    # A pale button needs an edge to be seen as one.
    edge = fill if contrast(fill, ground) >= VISIBLE else text
    return (
        f"--accent:{fill};--accent-deep:{deep};--accent-edge:{edge};"
        f"--on-accent:{on_fill};--accent-text:{text}"
    )
