"""How an e-mail address is shown. It is stored as SMTP transmits it, with the domain in ASCII."""


def shown(address: str) -> str:
    """``address`` for its owner: ``info@müller.de`` for ``info@xn--mller-kva.de`` (RFC 5890)."""
    local, at, domain = address.rpartition("@")
    return f"{local}{at}{shown_domain(domain)}"


def shown_domain(domain: str) -> str:
    """A domain in ASCII as people write it: ``müller.de``."""
    return ".".join(map(_decoded, domain.split(".")))


def masked(address: str) -> str:
    """``address`` for another person: ``m…@example.com``.

    The domain stays in ASCII: in other scripts it could look like one that the person trusts.
    """
    local, at, domain = address.rpartition("@")
    return f"{local[:1]}…{at}{domain}"


def _decoded(label: str) -> str:
    if not label.lower().startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")  # RFC 3492
    except UnicodeError:
        return label
