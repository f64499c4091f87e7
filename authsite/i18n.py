"""Languages: which there are, and which of them a reader wants."""

LANGUAGES = ("en", "de")


def negotiate(accept_language: str | None) -> str:
    """The best of our languages for an ``Accept-Language`` header (RFC 9110, section 12.5.4)."""
    wanted = []
    for part in (accept_language or "")[:200].split(","):
        tag, _, weight = part.strip().partition(";q=")
        try:
            wanted.append((float(weight or 1), tag.partition("-")[0].lower()))
        except ValueError:
            continue
    for quality, tag in sorted(wanted, key=lambda item: -item[0]):
        if tag in LANGUAGES and quality > 0:
            return tag
    return LANGUAGES[0]
