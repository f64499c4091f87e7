"""Usernames that would let a user pose as the site (RFC 2142, and names of common roles)."""

# Without punctuation: "mail-er.daemon" is compared as "mailerdaemon".
_LISTED = """
    about abuse account accounts admin administrator all anonymous api auth authsite billing
    contact daemon everyone guest help helpdesk hostmaster info legal login logout mail
    mailerdaemon me moderator noc nobody noreply null official operator owner postmaster privacy
    register root security self service signin signup staff superuser support sysadmin system
    team undefined user users verify webmaster www
"""
RESERVED = frozenset(_LISTED.split())
