"""The colors of pages and mails, and their contrast as WCAG 2.2 defines it.

A color is text: ``#rgb`` or ``#rrggbb``.
"""

from collections.abc import Sequence

READABLE = 4.5  # contrast of text: WCAG 2.2, success criterion 1.4.3
VISIBLE = 3.0  # contrast of controls: 1.4.11
WHITE, BLACK = "#ffffff", "#000000"
ACCENT = "#3452c9"  # without setting `accent-color`; as in base.css
# The backgrounds in the stylesheet, for the light and the dark color scheme.
LIGHT = ("#fff", "#f3f4f6", "#eef0f4")
DARK = ("#181b20", "#101216", "#22262d")
_DEEPER = 0.14  # the share of black or white in ``--accent-deep``
_STEP = 0.04


def accent_css(color: str | None) -> bytes:
    """The CSS that setting `accent-color` adds to the stylesheets of pages."""
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


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colors, 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def readable_on(color: str) -> str:
    """White if it is readable on ``color``, else black, which then is."""
    return WHITE if contrast(WHITE, color) >= READABLE else BLACK


def towards(color: str, end: str, backgrounds: Sequence[str], ratio: float) -> str:
    """``color``, mixed with ``end`` until its contrast to each background is ``ratio``."""
    share, result = 0.0, mixed(color, end, 0)
    while share < 1 and any(contrast(result, each) < ratio for each in backgrounds):
        share = min(1, share + _STEP)
        result = mixed(color, end, share)
    return result


def mixed(one: str, other: str, share: float) -> str:
    """``one`` mixed with ``share`` (0 to 1) of ``other``."""
    pairs = zip(_channels(one), _channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _channels(color: str) -> tuple[int, int, int]:
    digits = color.removeprefix("#")
    digits = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)


def _luminance(color: str) -> float:
    red, green, blue = (_linear(channel / 255) for channel in _channels(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return float(channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4)
