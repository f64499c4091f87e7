"""``authsite serve``: the service on Granian."""

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack

import click

from authsite.platform.command_line.shared import config_path, examples, ini_option, settings_of
from authsite.platform.finding import Finding
from authsite.platform.runtime.processes import usable_cores
from authsite.platform.settings import Settings, SettingsError, environment, folder_of, read_ini
from authsite.platform.settings.load import check_start, start_warnings
from authsite.server.worker import end_workers_that_start, no_collections, tell_systemd

from .doctor import examine
from .starting import (
    claim_port,
    prepare_application,
    refuse_other_installation,
    refuse_other_programs,
)

# Granian's lines go to the handler of `authsite.platform.logs.configure`, and so have its format.
LOGGERS: dict[str, dict[str, dict[str, str]]] = {"loggers": {"_granian": {}, "granian.access": {}}}
SAMPLE = "-d {field}=you@{domain} -d 'password=purple wolf 77 tea'"
MAX_HEAD = 16 * 1024  # bytes of the request line and the headers


@click.command(
    epilog=examples(
        "authsite serve --init",
        "authsite serve --config production.ini --workers 4",
    )
)
@ini_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", default=6543, show_default=True, type=click.IntRange(1, 65535), help="Its port."
)
@click.option(
    "--workers", type=click.IntRange(1, 64), help="Processes. Default: one for each core."
)
@click.option(
    "--keep-alive",
    default=30,
    show_default=True,
    type=click.IntRange(1, 3600),
    help="The seconds after which an idle connection is closed: more than the proxy in front keeps "
    "one.",
)
@click.option("--init", "init_first", is_flag=True, help="Do `authsite init` first.")
def serve(
    config: str | None,
    host: str,
    port: int,
    workers: int | None,
    keep_alive: int,
    init_first: bool,
) -> None:
    """Run the service.

    It ends with SIGTERM or Ctrl-C; requests in progress are completed.
    """
    if init_first:
        from .init import prepare

        for note in prepare(config).notes:
            click.echo(note)
    path = config_path(config)
    cfg = settings_of(config)  # in this process, so that an invalid setting is reported once
    ini = read_ini(path)
    refuse_other_programs(path, ini)
    try:
        check_start(cfg)
    except SettingsError as error:
        raise click.ClickException(str(error)) from None
    warnings = start_warnings(cfg, ini, environment(folder_of(ini)))
    for warning in warnings:
        click.secho(f"note: {warning}", err=True)
    with ExitStack() as stack:
        stack.enter_context(claim_port(host, port))
        # Imported now, so that an invalid setting is reported without the time that this takes.
        with no_collections():
            refuse_other_installation(cfg)
            from granian import Granian
            from granian.constants import HTTPModes, Interfaces, Loops
            from granian.http import HTTP1Settings

            from authsite.monitoring.workers import metrics_folder
            from authsite.platform.logs import configure
            from authsite.platform.mail.pages import may_show, shared_folder
            from authsite.server.worker import failure_in, prepared

            # The application has these folders, so they are made before it.
            stack.enter_context(shared_folder(cfg, host))
            folder = stack.enter_context(metrics_folder())
            prepare_application(path)
        os.environ["AUTHSITE_CONFIG"] = str(path.absolute())
        workers = workers or usable_cores()
        # glibc has memory arenas for each thread; sixteen threads would use a third more memory.
        os.environ.setdefault("MALLOC_ARENA_MAX", "2")
        local_url = f"http://{'localhost' if host == '127.0.0.1' else host}:{port}"
        for text, color in start_lines(examine(config, application=False), warnings):
            click.secho(text, err=True, fg=color)
        click.echo(greeting(cfg, local_url, shows_mail=may_show(cfg, host)))
        configure(as_json=cfg.production)
        server = Granian(
            "authsite.server.worker:application",
            factory=True,
            address=host,
            port=port,
            interface=Interfaces.ASGINL,  # ASGI without lifespan events; see server/asgi.py
            loop=Loops.auto,  # uvloop if it is installed
            http=HTTPModes.http1,  # the protocol between a proxy and the server behind it
            http1_settings=HTTP1Settings(
                header_read_timeout=keep_alive * 1000, max_buffer_size=MAX_HEAD
            ),
            workers=workers,
            workers_kill_timeout=10,  # seconds in which requests can be completed
            websockets=False,
            log_access=False,  # the bridge logs requests, with their errors; see request_log.py
            log_dictconfig=LOGGERS,
            respawn_failed_workers=True,
        )
        server.on_reload(prepared.cache_clear)  # SIGHUP: new workers read the settings again
        end_workers_that_start()
        tell_systemd(host, port)
        try:
            server.serve()
        finally:
            if failure := failure_in(folder):
                raise click.ClickException(failure)


def start_lines(
    findings: Iterable[Finding], warnings: Collection[str]
) -> Iterator[tuple[str, str | None]]:
    """The lines of `authsite doctor` that a start prints, with their color.

    What is wrong, unless the ``warnings`` of the settings say it, and why OpenID Connect is off.
    """
    for each in findings:
        if each.state == "wrong" and not any(each.subject in warning for warning in warnings):
            yield f"WRONG  {each.subject}: {each.message}", "red"
        elif (each.state, each.subject) == ("note", "openid"):
            yield f"note: authsite.openid: {each.message}", None


def greeting(cfg: Settings, local_url: str, *, shows_mail: bool = False) -> str:
    """What to open, and commands to copy; ``local_url`` is where the server listens.

    ``shows_mail``: whether there is the page `/dev/mail`.
    """
    url = cfg.base_url[0] if cfg.base_url else local_url
    where = f"; it listens on {local_url}" if url != local_url else ""
    lines = [
        f"authsite is running at {url}{where}  (stop with Ctrl-C)",
        "",
        f"  Home page      {url}/",
        f"  Login page     {cfg.login_page_url if '://' in cfg.login_page_url else f'{url}/login'}",
        *([f"  API            {url}/docs"] if cfg.docs_page else []),
        *([f"  Mails          {url}/dev/mail"] if shows_mail else []),
        "",
    ]
    if not cfg.production:
        lines += [*_examples(cfg, url), ""]
    return "\n".join(lines)


def _examples(cfg: Settings, url: str) -> list[str]:
    domain = cfg.registration_domains[0] if cfg.registration == "domains" else "example.com"
    if cfg.registration_open:
        lines = [
            f"  Register       curl -s {url}/v1/register \\",
            f"                   {SAMPLE.format(field='email', domain=domain)}",
        ]
    elif cfg.invitations_open:
        lines = ["  Invite         authsite user invite you@example.com"]
    else:
        lines = ["  Register       authsite user create --email you@example.com"]
    if cfg.registration_open and cfg.confirmation_required:
        place = "shown below" if cfg.mail_driver == "log" else "that you get"
        lines.append(f"  Confirm        open the link in the mail {place}")
    if cfg.clients:
        name = "web" if "web" in cfg.clients else next(iter(cfg.clients))
        lines += [
            f"  Log in         curl -s {url}/v1/clients/{name}/login \\",
            f"                   {SAMPLE.format(field='username', domain=domain)}",
            f"  Who am I       curl -s {url}/v1/user -H 'Authorization: Bearer <access_token>'",
        ]
    return lines
