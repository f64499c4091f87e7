"""R25: the secret and the pepper are rotated while two servers are in use."""

import tempfile
from pathlib import Path

from tests.support.databases import migrated
from tests.support.postgres import cluster
from tests.support.rotating import rotation_in_use

from .rows import none


def rotated(short):
    """R25: every step on one server, then on the other one, with a reload after each."""
    with tempfile.TemporaryDirectory(prefix="authsite-rotation-") as name, cluster() as postgres:
        postgres.create()
        url = migrated(postgres.url)
        cost = rotation_in_use(Path(name), url, visitors=3 if short else 6)
    done = "secret and pepper rotated in use: two servers, reloaded one after the other"
    failed = [f"{count} {what}" for what, count in cost.failures.items()]
    return [
        none("R25", done, f"failed requests of {cost.requests}", failed),
        none("R25", done, f"failed verify links of {cost.links}", cost.broken_links),
        none("R25", done, f"logouts of {cost.sign_ins} sign-ins", cost.logouts),
    ]
