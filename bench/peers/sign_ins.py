"""``python -m bench.peers.sign_ins FOLDER URL BASE``: what signs people in, for ``measure.py``.

It fills the database with people, an application and a group, prints the paths of files as JSON,
and waits: each line ``500`` on its standard input makes a file of this number of new exchanges of
codes, which work once. It answers with the path. A separate program, as `bench.peers.fill` is.
"""

import json
import sys
import uuid
from pathlib import Path
from urllib.parse import urlencode

from sqlalchemy import delete, insert
from sqlalchemy.orm import Session

from authsite.groups import members
from authsite.groups import service as groups
from authsite.oauth.clients import service as clients
from authsite.oauth.tokens.issue import ClientRef, issue
from authsite.platform.audit.service import Cause
from authsite.platform.context import Context
from authsite.platform.crypto.sealing import Binding
from authsite.platform.http.request_info import RequestInfo
from authsite.platform.mail.outbox import OutboxMessage
from authsite.platform.runtime import clock
from authsite.sign_in.factors import service as factors
from authsite.sign_in.gate import without_proof
from authsite.sign_in.methods.totp.models import SECRET, TotpFactor
from authsite.users.account import account_of
from authsite.users.groups.labels import Group
from authsite.users.models import LoginName, User
from bench import openid, seed
from bench.peers.app_code import KEY

WITH_APP = 1000  # people with an authenticator app, of the secret in ``logins.py``
GROUP, COMMAND = "ops", Cause("command")


class SignIns:
    """People with an application, some of them with an authenticator app or in a group."""

    def __init__(self, folder, url, base, prefix="person", with_app=WITH_APP):
        """``prefix``: of the addresses, which must be new."""
        self.filled = openid.Filled(folder, url, base, prefix)
        self.prefix = prefix
        services = self.filled.services
        with Session(services.database.transactional, expire_on_commit=False) as db, db.begin():
            ctx = Context(services, RequestInfo, lambda: db)
            if db.get(Group, GROUP) is None:
                groups.create(ctx, GROUP, groups.GroupValues(title="Operations"), COMMAND)
            for each in self.filled.people:
                members.add(ctx, GROUP, each.id, COMMAND)
            client, secret = clients.create(ctx, "passwords", "password")
            keys = {"client_id": str(client.id), "client_secret": secret}
            self.login = urlencode({"grant_type": "password", "password": seed.PASSWORD, **keys})
            self.keys = urlencode(keys)
            hashed = services.passwords.hash(seed.PASSWORD)
            for number in range(with_app):
                self._with_app(ctx, f"app.{prefix}{number}@example.com", hashed)
            notices = OutboxMessage.address.like(f"app.{prefix}%")
            db.execute(delete(OutboxMessage).where(notices))
        ref = ClientRef(client.id, client.epoch)
        self.members = folder / "members"
        pairs = [issue(ctx, ref, without_proof(each), "") for each in self.filled.people]
        self.members.write_text("".join(f"{pair.access_token}\n" for pair in pairs))

    def files(self):
        """Paths by name, and the form of a login without the user and the code."""
        return {
            "members": str(self.members),
            "tokens": str(self.filled.tokens),
            "login": self.login,
            "with_app": WITH_APP,
        }

    def _with_app(self, ctx, email, hashed):
        now = clock.now()
        user = User(
            id=uuid.uuid4(), email=email, password_hash=hashed, created_at=now, updated_at=now,
            email_verified_at=now, origin="registered",
        )  # fmt: skip
        ctx.db.add(user)
        ctx.db.flush()
        ctx.db.execute(insert(LoginName).values(key=email, kind="email", user_id=user.id))
        app = uuid.uuid4()
        ctx.db.add(
            TotpFactor(
                id=app, user_id=user.id, digits=6, period=30, algorithm="SHA1", last_step=0,
                secret=ctx.services.sealing.seal(KEY, Binding(SECRET, app, user=user.id)),
                failures=0, created_at=now,
            )
        )  # fmt: skip
        ctx.db.flush()
        factors.added(ctx, account_of(user), "totp", app, None)


def main():
    """Fill, and make files until the input ends."""
    folder, url, base = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    made = SignIns(folder, url, base)
    print(json.dumps(made.files()), flush=True)
    for line in sys.stdin:
        print(made.filled.codes("peers", int(line)), flush=True)


if __name__ == "__main__":
    main()
