"""Rows that an import takes, and the CSV file with them."""

import csv

from tests.support import foreign_systems as other

COLUMNS = ("id", "email", "name", "password_hash", "confirmed", "disabled", "created_at")
GOOD = {"created_at": other.MADE, "password_hash": "$2y$05$" + "a" * 21 + "u" + "b" * 31}


def good(name):
    return {**GOOD, "id": name, "email": f"{name}@example.com"}


def write_csv(path, rows, columns=COLUMNS):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    return path
