"""Limits: how often something may be tried, over all processes together."""


def includeme(config):
    """``request.attempts`` and the view option ``throttle="register-address"``."""
    # Here, not above: commands read the tables without paying for the limits library.
    from authsite.keys import KeyRing

    from .attempts import request_attempts
    from .limiter import make_limiter
    from .opening import open_storage
    from .option import throttle_deriver

    registry = config.registry
    cfg = registry["authsite.settings"]
    registry["authsite.devices"] = KeyRing(cfg.secret, "device")
    registry["authsite.limiter"] = cfg.limits and make_limiter(
        open_storage(cfg, registry["authsite.database"]),
        cfg.limit_values,
        KeyRing(cfg.secret, "limits"),
    )
    config.add_request_method(request_attempts, "attempts", reify=True)
    config.add_view_deriver(throttle_deriver, "throttle", under="body", over="rendered_view")
