"""What the settings `accent-color`, `font` and `corner-radius` change in the stylesheets.

It is in the files, since the Content-Security-Policy forbids inline styles.
"""

from authsite.colors import accent_css
from authsite.settings import Settings


def brand_css(cfg: Settings) -> bytes:
    """The CSS to add to ``authsite.css`` and ``docs.css``; empty without these settings.

    The parsers of the settings leave nothing in a value that could end the declaration.
    """
    properties = {"--font": cfg.font, "--radius": cfg.corner_radius}
    declared = ";".join(f"{name}:{value}" for name, value in properties.items() if value)
    own = f":root{{{declared}}}\n" if declared else ""
    return own.encode() + accent_css(cfg.accent_color)
