"""Logging in: which names a user has, the check, and the steps every login must pass."""

from pyramid.events import ApplicationCreated

from authsite.users.passwords import HashGate, Passwords

from .check import LoginStep
from .uses import Uses


def add_login_step(config, step):
    """Directive: ``step(cfg, account)`` runs at every login and refresh, and refuses by raising."""
    config.registry["authsite.login_steps"].append(step)


def _write_uses(event):
    from .thread import start

    start(event.app.registry)


def includeme(config):
    """``request.passwords``, ``request.login_steps``, ``config.add_login_step``; notes of use."""
    cfg = config.registry["authsite.settings"]
    passwords = Passwords(cfg.bcrypt_cost, cfg.password_pepper, HashGate(cfg.hash_threads))
    config.registry["authsite.passwords"] = passwords
    steps: list[LoginStep] = []
    config.registry["authsite.login_steps"] = steps
    config.add_request_method(lambda _request: passwords, "passwords", property=True)
    config.add_request_method(lambda _request: steps, "login_steps", property=True)
    config.add_directive("add_login_step", add_login_step)
    config.registry["authsite.uses"] = Uses(config.registry["authsite.database"])
    if cfg.mail_sender == "thread":  # a host that has room for our threads
        config.add_subscriber(_write_uses, ApplicationCreated)
    # In a host without a prefix "/" is the host's: ours is only linked to.
    ours = config.registry["authsite.standalone"] or config.route_prefix
    config.add_route("authsite.home", "/", static=not ours)
    config.add_route("authsite.login.page", "/login")
    config.add_route("authsite.logout.page", "/logout")
    config.scan(".pages")
