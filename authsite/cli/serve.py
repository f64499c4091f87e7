"""``authsite serve``: the service on Granian."""

import logging
import os
from pathlib import Path
from typing import Any

import click

from authsite.cores import usable_cores
from authsite.settings import cautions, environment, unknown_variables

from .shared import config_path, settings_of

# Per worker: requests with a body that may wait for the database or a hash at once, and as many
# without one.
THREADS = 16
MAX_HEAD = 16 * 1024  # bytes of a request's line and headers


@click.command()
@click.option("--config", metavar="INI", help="Default: $AUTHSITE_CONFIG or development.ini.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=6543, show_default=True, type=click.IntRange(1, 65535))
@click.option(
    "--workers", type=click.IntRange(1, 64), help="Processes. Default: one for each core."
)
@click.option("--init", "init_first", is_flag=True, help="Do `authsite init` first.")
def serve(config: str | None, host: str, port: int, workers: int | None, init_first: bool) -> None:
    """Run the service until it is told to stop (SIGTERM lets requests end)."""
    if init_first:
        from .init import prepare

        prepare(config)
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings

    from .door import work

    path = config_path(config)
    cfg = settings_of(config)  # a bad setting stops the start here, once, with its name
    for caution in cautions(cfg):
        click.secho(f"note: {caution}", err=True)
    for variable in unknown_variables(environment()):
        click.secho(f"note: {variable} means nothing to authsite; check its spelling", err=True)
    os.environ["AUTHSITE_CONFIG"] = str(path)
    workers = workers or usable_cores()
    # glibc keeps memory apart for each thread; sixteen threads would hold on to a third more.
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    click.echo(greeting(f"http://{'localhost' if host == '127.0.0.1' else host}:{port}"))
    # Sixteen threads are meant: they wait for the database and for hashes, not for the cores.
    logging.getLogger("_granian").addFilter(lambda line: "quite high" not in line.getMessage())
    Granian(
        "authsite.cli.serve:application",
        factory=True,
        address=host,
        port=port,
        interface=Interfaces.WSGI,  # what the application is; door.work says how it is called
        http=HTTPModes.http1,  # what proxies speak to a server behind them
        http1_settings=HTTP1Settings(max_buffer_size=MAX_HEAD),
        workers=workers,
        blocking_threads=THREADS,
        workers_kill_timeout=10,  # seconds that requests have to end
        websockets=False,
        log_access=False,
        respawn_failed_workers=True,
    ).serve(spawn_target=work)


def application() -> Any:
    """The WSGI application of one worker process."""
    from authsite import main
    from authsite.login.thread import start as write_uses
    from authsite.ops.logging import configure
    from authsite.settings import read_ini

    path = Path(os.environ["AUTHSITE_CONFIG"])
    configure(as_json=settings_of(str(path)).production)
    logging.getLogger("authsite.settings").setLevel(logging.ERROR)  # `serve` has said it once
    app = main({"__file__": str(path.resolve())}, **read_ini(path))
    write_uses(app.registry)
    cfg = app.registry["authsite.settings"]
    if cfg.mail_sender is None:
        from authsite.mail.thread import start

        start(app.registry)
    if cfg.janitor is None:
        from authsite.janitor.thread import start as start_janitor

        start_janitor(app.registry)
    return app


def greeting(url: str) -> str:
    """What to open, and a login to copy."""
    return f"""\
authsite serves {url}  (stop with Ctrl-C)

  Open           {url}/docs
  Register       curl -s {url}/v1/register \\
                   -d email=you@example.com -d 'password=purple wolf 77 tea'
  Log in         curl -s {url}/v1/clients/web/login \\
                   -d username=you@example.com -d 'password=purple wolf 77 tea'
  Who am I       curl -s {url}/v1/user -H 'Authorization: Bearer <access_token>'
"""
