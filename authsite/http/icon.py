"""The icon of a site without setting `site-icon`: the letter that its pages have, too."""

from html import escape

from authsite.colors import ACCENT, readable_on
from authsite.settings import Settings

_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
    '<rect width="32" height="32" rx="8" fill="{fill}"/>'
    '<text x="16" y="23" fill="{ink}" font-family="system-ui, sans-serif" font-size="20"'
    ' font-weight="600" text-anchor="middle">{letter}</text></svg>\n'
)


def letter_icon(cfg: Settings) -> bytes:
    """An SVG picture with the first letter of `site-name` on `accent-color`."""
    fill = cfg.accent_color or ACCENT
    letter = escape(cfg.site_name[0].upper())
    return _SVG.format(fill=fill, ink=readable_on(fill), letter=letter).encode()
