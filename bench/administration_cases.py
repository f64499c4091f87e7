"""What `bench.administration` asks for: every route that is read, and lists with their filters."""

import re
import uuid
from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import text

from .administration_data import LARGE, SMALL

ROUTES, API = "authsite.admin.", "authsite.admin.api."
NOT_LISTS = re.compile(r"export|\.csv$")  # these give up to 20,000 rows at once

# Of users: `{email}` and the like are values of one user, who is in the middle of all.
USERS = {
    "half an address": {"q": "{half}"},
    "username": {"q": "{username}"},
    "phone": {"q": "{phone}"},
    "beginning of phones": {"q": "+4917"},
    "id": {"q": "{user}"},
    "one letter": {"q": "m"},
    "name": {"q": "name:{name}"},
    "common name": {"q": "name:maria"},
    "name, one letter": {"q": "name:m"},
    "nobody": {"q": "nobody.has.this"},
    "no name": {"q": "name:nobody"},
    "disabled": {"disabled": "true"},
    "enabled": {"disabled": "false"},
    "unconfirmed": {"confirmed": "false"},
    "confirmed": {"confirmed": "true"},
    "large group": {"group": LARGE},
    "small group": {"group": SMALL},
    "no group": {"group": "nogroup"},
    "created after": {"created_after": "{day}"},
    "created just now": {"created_after": "{tomorrow}"},
    "disabled, unconfirmed": {"disabled": "true", "confirmed": "false"},
    "disabled, small group": {"disabled": "true", "group": SMALL},
    "large group, unconfirmed": {"confirmed": "false", "group": LARGE},
    "large group, disabled": {"disabled": "true", "group": LARGE},
    "one letter, disabled": {"q": "m", "disabled": "true"},
    "one letter, small group": {"q": "m", "group": SMALL},
    "common name, small group": {"q": "name:maria", "group": SMALL},
    "common name, disabled, unconfirmed": {
        "q": "name:maria", "disabled": "true", "confirmed": "false",
    },
    "disabled, created after": {"disabled": "true", "created_after": "{day}"},
    "enabled, unconfirmed": {"disabled": "false", "confirmed": "false"},
}  # fmt: skip
WITHOUT_FACTOR = {
    "without factor": {"without_factor": "true"},
    "without factor, small group": {"without_factor": "true", "group": SMALL},
    "without factor, disabled": {"without_factor": "true", "disabled": "true"},
    "without factor, one letter": {"without_factor": "true", "q": "m"},
}
EVENTS = {
    "user": {"user": "{user}"},
    "attacked user": {"user": "{attacked}"},
    "user by address": {"user": "{email}"},
    "unknown user": {"user": "{nothing}"},
    "client": {"client": "{client}"},
    "unknown client": {"client": "{nothing}"},
    "common event": {"event": "login"},
    "rare event": {"event": "user.disabled"},
    "no event": {"event": "group.deleted"},
    "address": {"address": "{address}"},
    "unknown address": {"address": "203.0.113.99"},
    "since": {"since": "24h"},
    "until": {"until": "30d"},
    "since, until": {"since": "60d", "until": "30d"},
    "until long ago": {"until": "200d"},
    "user, rare event": {"user": "{user}", "event": "user.disabled"},
    "attacked user, rare event": {"user": "{attacked}", "event": "user.disabled"},
    "attacked user, until": {"user": "{attacked}", "until": "60d"},
    "address, until": {"address": "{address}", "until": "30d"},
}
MAILS = {state: {"state": state} for state in ("waiting", "sent", "dead", "expired")}
MORE: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    f"{API}users": USERS,
    f"{ROUTES}users": USERS | WITHOUT_FACTOR,
    f"{API}events": EVENTS,
    f"{ROUTES}audit": EVENTS,
    f"{API}mails": MAILS,
    f"{ROUTES}mail": MAILS,
    f"{API}events.explain": {"with its time": {"at": "{newest_at}"}},
    f"{API}events.export": {"rare event": {"event": "user.disabled"}},
}
# Of routes whose path has values: others of them.
PATHS = {
    "users.user": {"attacked user": {"id": "attacked"}},
    "users.events": {"attacked user": {"id": "attacked"}},
    "groups.group": {"small group": {"name": "small"}, "owners": {"name": "owners"}},
    "groups.members": {"small group": {"name": "small"}, "owners": {"name": "owners"}},
    "explain": {"old request": {"request_id": "old_request"}},
}


class Case(NamedTuple):
    """A request for a route; the values in braces in ``given`` and ``pattern`` are of the place."""

    name: str
    route: str
    pattern: str
    given: Mapping[str, str]
    instead: Mapping[str, str]

    @property
    def has_aim(self):
        """Whether it is a page or a list of 50."""
        return NOT_LISTS.search(self.route) is None

    @property
    def is_list(self):
        """Whether it may have further parts."""
        ends = ("users", "events", "audit", "mails", "mail", "groups", "members", "invitations")
        return self.route.rpartition(".")[2] in (*ends, "clients", "group")

    def path(self, values):
        """The path, with the values of the place."""

        def value(found):
            usual = {"id": _kind_of(self.route), "name": "large"}.get(found[1], found[1])
            return values[self.instead.get(found[1], usual)]

        return re.sub(r"\{(\w+)\}", value, self.pattern)

    def query(self, values):
        """The parameters, with the values of the place."""
        return {name: text_.format(**values) for name, text_ in self.given.items()}


def all_cases(site):
    """A case or more of every route of console and API that is read."""
    found = site.app.registry.introspector
    routes = {
        item["introspectable"]["name"]: item["introspectable"]["pattern"]
        for item in found.get_category("routes")
    }
    names = set()
    for item in found.get_category("views"):
        view, methods = item["introspectable"], item["introspectable"]["request_methods"]
        name = view["route_name"] or ""
        if name.startswith(ROUTES) and "GET" in (
            [methods] if isinstance(methods, str) else methods
        ):
            names.add(name)
    for name in sorted(names):
        pattern = routes[name]
        yield Case(pattern, name, pattern, {}, {})
        for label, given in MORE.get(name, {}).items():
            yield Case(f"{pattern}: {label}", name, pattern, given, {})
        for end, others in PATHS.items():
            if name.endswith(f".{end}"):
                for label, instead in others.items():
                    yield Case(f"{pattern}: {label}", name, pattern, {}, instead)


def _kind_of(route):
    """What the id in a path of this route is of."""
    words = route.removeprefix(API).removeprefix(ROUTES).split(".")
    if words in (["users", "token"], ["users", "factor"]):
        return f"{words[1]}_owner"
    if words[0] == "groups":
        return "member"
    return {"clients": "client", "invitations": "invitation"}.get(words[0], "user")


def values(site):
    """The values of the cases in this database."""
    with site.database.autocommit.connect() as connection:

        def one(query, **given):
            return connection.execute(text(query), given).one()

        middle = one(
            "SELECT id, email, username, phone, name FROM users WHERE id = md5('user2000')::uuid"
        )
        member = one("SELECT user_id FROM group_members WHERE group_name = :it LIMIT 1", it=LARGE)
        newest = one(
            "SELECT request_id, address, at FROM audit_events"
            " WHERE request_id IS NOT NULL ORDER BY at DESC LIMIT 1 OFFSET 500"
        )
        oldest = one("SELECT request_id FROM audit_events ORDER BY id LIMIT 1")
        session = one("SELECT id FROM web_sessions WHERE user_id = :it LIMIT 1", it=middle.id)
        token = one(
            "SELECT id, user_id FROM personal_tokens"
            " WHERE revoked_at IS NULL AND expires_at > now() LIMIT 1"
        )
        factor = one("SELECT id, user_id FROM totp_factors LIMIT 1")
        dates = one(
            "SELECT to_char(now() - interval '400 days', 'YYYY-MM-DD'),"
            " to_char(now() + interval '1 day', 'YYYY-MM-DD')"
        )
        found = {
            "user": middle.id,
            "email": middle.email,
            "half": middle.email[: len(middle.email) // 2],
            "username": middle.username,
            "phone": middle.phone,
            "name": middle.name,
            "attacked": one("SELECT md5('user11')::uuid")[0],
            "member": member.user_id,
            "client": one("SELECT id FROM clients ORDER BY id LIMIT 1 OFFSET 100").id,
            "invitation": one("SELECT id FROM invitations LIMIT 1").id,
            "mail": one("SELECT id FROM outbox WHERE state = 'dead' LIMIT 1").id,
            "sid": session.id,
            "tid": token.id,
            "token_owner": token.user_id,
            "fid": factor.id,
            "factor_owner": factor.user_id,
            "request_id": newest.request_id,
            "address": newest.address,
            "newest_at": newest.at.isoformat().replace("+00:00", "Z"),
            "old_request": oldest.request_id,
            "day": dates[0],
            "tomorrow": dates[1],
            "nothing": uuid.uuid4(),
            "large": LARGE,
            "small": SMALL,
            "owners": "authsite:owner",
        }
    found["name"] = found["name"].lower()
    return {name: str(value) for name, value in found.items()}
