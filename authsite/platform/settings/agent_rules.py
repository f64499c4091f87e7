"""What to know of the settings about clients that no administrator has registered."""

from .agent_values import ALL_HOSTS
from .rules import NAMED, Rule

AGENT_RULES: tuple[Rule, ...] = (
    Rule(
        "client-registration-open",
        "client_registration",
        lambda s: s.client_registration == "open",
        "anyone can register a client under any name; users are told that it is not verified. With"
        " off only administrators register clients",
        NAMED,
    ),
    Rule(
        "client-id-documents-all",
        "client_id_documents",
        lambda s: ALL_HOSTS in s.client_id_documents,
        "any site can describe a client, and is asked when a user signs in to it; name the hosts"
        " if you know them",
        NAMED,
    ),
)
