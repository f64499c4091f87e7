"""Domains of e-mail addresses in one canonical form: lower case and ASCII (IDNA, RFC 5891)."""

import unicodedata

from .values import list_of

# Names of private networks, which email-validator rejects: it accepts global names only.
_PRIVATE_DOMAINS = (".localhost", ".local", ".test")


def mail_domain(domain: str, local: str = "name") -> str:
    """The domain of the address ``local@domain``, as SMTP transmits it.

    Raises `ValueError` if the text is not the address of a mailbox.
    """
    # The import takes 20 ms, and a process that only guards routes never needs it.
    from email_validator import EmailNotValidError, validate_email

    # With a global suffix, email-validator checks a private name like any other.
    domain = unicodedata.normalize("NFC", domain)
    lowered = domain.lower()
    private = lowered == "localhost" or lowered.endswith(_PRIVATE_DOMAINS)
    suffix = ".com" if private else ""
    try:
        valid = validate_email(
            f"{local}@{domain}{suffix}",
            check_deliverability=False,
            strict=True,
            # Stated, since the defaults are globals that a host application may change.
            allow_quoted_local=False,
            allow_display_name=False,
            allow_domain_literal=False,
            allow_empty_local=False,
        )
    except EmailNotValidError as error:
        raise ValueError(str(error)) from None
    return str(valid.ascii_domain).removesuffix(suffix).lower()


def _domain(text: str) -> str:
    try:
        return mail_domain(text)
    except ValueError as error:
        raise ValueError(
            f"give whole domains such as corp.example, separated by spaces; {text!r} is none"
        ) from error


domains = list_of(_domain)
