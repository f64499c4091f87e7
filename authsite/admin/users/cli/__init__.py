"""``authsite user …``"""

import click

from . import account, changes, factors, mail_code
from .invite import invite


@click.group()
def user() -> None:
    """Users: accounts, sign-ins, stored data."""


for _command in (
    account.create,
    invite,
    account.list_,
    account.show,
    changes.update,
    changes.set_email,
    changes.confirm,
    changes.set_password,
    factors.factors,
    factors.reset_factors,
    mail_code.mail_code,
    changes.sign_out,
    changes.disable,
    changes.enable,
    account.limits,
    account.export,
    account.delete,
):
    user.add_command(_command)
