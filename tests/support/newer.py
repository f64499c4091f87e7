"""A version that comes after this one: throw-away migrations, which this repository does not have.

The first release has one migration. What a later one may do, and what this version does with a
database that a later one has upgraded, is tried with these.
"""

import shutil
from contextlib import contextmanager

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from authsite.platform.db import migrate
from authsite.platform.runtime import package

BEFORE = migrate.head()
REVISION, AFTER = (f"{max(int(BEFORE) + number, 99 + number):04}" for number in (1, 2))
# What a version may add: see CONTRIBUTING.md, "Migrations".
EXPAND = '''"""A column for users, one for token families, a table, an index"""

import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = "{down_revision}"


def upgrade() -> None:
    op.add_column("users", sa.Column("note", sa.String(100), nullable=True))
    op.add_column("families", sa.Column("uses", sa.Integer(), server_default="0", nullable=False))
    op.create_table("notes", sa.Column("id", sa.Integer(), primary_key=True))
    op.create_index("ix_users_note", "users", ["note"])


def downgrade() -> None:
    op.drop_index("ix_users_note", "users")
    op.drop_table("notes")
    op.drop_column("families", "uses")
    op.drop_column("users", "note")
'''


def add_to(folder, *sources):
    """Copy the migrations into ``folder``; add one for each of ``sources``, from `REVISION` on."""
    shutil.copytree(migrate.FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    down = migrate.head()
    for number, source in enumerate(sources, int(REVISION)):
        revision = f"{number:04}"
        text = source.replace("{revision}", revision).replace("{down_revision}", down)
        (folder / "versions" / f"{revision}_more.py").write_text(text)
        down = revision
    return folder


@contextmanager
def known(folder, *sources):
    """This process has the migrations of a newer version in the block; `EXPAND` by default."""
    folder = add_to(folder / "newer", *(sources or (EXPAND,)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate, "FOLDER", folder)
        yield folder


def version(folder):
    """Copy this version into ``folder``, with `EXPAND` as a migration more; the folder."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package.FOLDER, folder / "authsite", ignore=ignored)
    add_to(folder / "migrations", EXPAND)
    return folder


def steps():
    """The migrations that this process has, the oldest first."""
    config = Config()
    config.set_main_option("script_location", str(migrate.FOLDER))
    return [*ScriptDirectory.from_config(config).walk_revisions()][::-1]
