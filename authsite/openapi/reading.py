"""The document, arranged for reading: its endpoints in groups, all or those that are wanted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .entry import Entry, entry_of

_METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Group:
    """The endpoints of one subject."""

    id: str
    name: str
    description: str
    entries: list[Entry]


def groups(document: Mapping[str, Any], base_url: str, wanted: str = "") -> list[Group]:
    """The groups with those endpoints that every word of ``wanted`` occurs in, if there are any.

    ``base_url`` is what the example requests begin with.
    """
    entries: dict[str, tuple[str, Entry]] = {}
    operations = list(_operations(document))
    for path, method, operation in operations:
        if "x-alias-of" not in operation:
            entry = entry_of(document, base_url, path, method, operation)
            entries[operation["operationId"]] = (operation["tags"][0], entry)
    for path, _method, operation in operations:
        if "x-alias-of" in operation:
            entries[operation["x-alias-of"]][1].aliases.append(path)
    words = wanted.lower().split()
    return [
        Group(f"group-{number}", tag["name"], tag["description"], kept)
        for number, tag in enumerate(document["tags"], 1)
        if (
            kept := [
                entry
                for name, entry in entries.values()
                if name == tag["name"] and all(word in _text(entry, name) for word in words)
            ]
        )
    ]


def _operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item:
                yield path, method, item[method]


def _text(entry: Entry, group: str) -> str:
    """What the filter looks at."""
    parts = (group, entry.method, entry.path, *entry.aliases, entry.summary, entry.description)
    return " ".join(parts).lower()
