"""Errors of groups."""

from collections.abc import Sequence

from authsite.platform.http.errors import ApiError, FieldError, NotFound, ValidationFailed
from authsite.platform.i18n import _, translate
from authsite.users.groups.labels import RESERVED


class UnknownGroup(NotFound):
    """There is no group of this name."""

    summary = "There is no group of this name."

    def __init__(self, name: str) -> None:
        super().__init__(
            _(
                "There is no group ${name}. List the groups, and use the name of one.",
                mapping={"name": name},
            )
        )


class GroupTaken(ApiError):
    """There is a group of this name already."""

    summary = "There is a group of this name already."
    status = 409
    code = "conflict"

    def __init__(self, name: str) -> None:
        super().__init__(
            _(
                "There is a group ${name} already. Change it, or use another name.",
                mapping={"name": name},
            )
        )


class GroupEnding(ApiError):
    """A group of this name was deleted, and its members are still being removed."""

    summary = "A group of this name was deleted, and its members are still being removed."
    status = 409
    code = "conflict"

    def __init__(self, name: str) -> None:
        super().__init__(
            _(
                "The group ${name} was deleted, and its members are still being removed. Wait until"
                " that has ended, or use another name.",
                mapping={"name": name},
            )
        )


class GroupInUse(ApiError):
    """Clients are for the members of this group alone."""

    summary = "A client is for the members of this group alone."
    status = 409
    code = "conflict"

    def __init__(self, name: str, clients: Sequence[str]) -> None:
        super().__init__(
            _(
                "Only members of the group ${name} may use the client ${clients}. Change it first,"
                " here or with `authsite client update ID --require-group`: to another group, or"
                " to none.",
                mapping={"name": name, "clients": ", ".join(clients)},
            )
        )


class ReservedName(ApiError):
    """The name is that of a reserved group, or begins like one."""

    summary = "The name is that of a group of administrators, or begins like one."
    status = 403
    code = "not_allowed"

    def __init__(self, name: str) -> None:
        super().__init__(
            _(
                "${name}: names that begin with authsite: are reserved for the administrators."
                " These groups are not created, changed or deleted. Owners decide who is in them,"
                " and the command `authsite admin`.",
                mapping={"name": name},
            )
        )


class UnknownRole(ApiError):
    """No reserved group has this name."""

    summary = "No group of administrators has this name."
    status = 422
    code = "invalid"

    def __init__(self, name: str) -> None:
        super().__init__(
            _(
                "${name} is not a group of administrators: use ${names}.",
                mapping={"name": name, "names": ", ".join(RESERVED)},
            )
        )


class TooManyGroups(ApiError):
    """The user is in as many groups as are allowed."""

    summary = "The user is in as many groups as are allowed."
    status = 422
    code = "too_many"

    def __init__(self, limit: int) -> None:
        super().__init__(
            _(
                "The user is in ${limit} groups already, which is the most. Remove the user from"
                " another group first.",
                mapping={"limit": str(limit)},
            )
        )


class NotConfirmed(ApiError):
    """Only a user who has confirmed the e-mail address may administer."""

    summary = "The user has not confirmed the e-mail address, and was to administer."
    status = 422
    code = "email_not_confirmed"
    message = _(
        "The user has not confirmed the e-mail address, so it may be another person's. Only a"
        " confirmed user can be an administrator."
    )


class InvalidGroup(ValidationFailed):
    """Values of a group are wrong."""

    summary = "A value is one that a group cannot have."

    def __init__(self, *details: FieldError) -> None:
        texts = [f"{each.field}: {translate(each.message)}" for each in details]
        super().__init__("; ".join(texts), details=details)
