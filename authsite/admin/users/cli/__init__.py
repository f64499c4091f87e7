"""``authsite user …``"""

import click

from . import account, factors
from .invite import invite


@click.group()
def user() -> None:
    """Users: accounts, sign-ins, stored data."""


for _command in (
    account.create,
    invite,
    account.list_,
    account.show,
    account.update,
    account.set_email,
    account.confirm,
    account.set_password,
    factors.factors,
    factors.reset_factors,
    factors.mail_code,
    account.sign_out,
    account.disable,
    account.enable,
    account.limits,
    account.export,
    account.delete,
):
    user.add_command(_command)
