"""Devices without a browser: one request for each reason."""

from sqlalchemy import update

from authsite.oauth.codes.models import AuthorizationCode
from authsite.oauth.device.service import DeviceCode
from authsite.oauth.models import DEVICE_GRANT
from tests.support import devices
from tests.support.codes import application
from tests.support.devices import tool
from tests.support.pages import csrf_of

from .cases import Denied, case
from .token_cases import NONE, grant, set_client, signed_in

TOKEN = "https://auth.example.com/v1/oauth/token"


def poll(world, app, code, shown=NONE):
    form = {"grant_type": DEVICE_GRANT, "client_id": app.client_id, "device_code": code}
    return Denied(world.site.http.post(TOKEN, form, status="*"), shown)


def begun(world):
    site = signed_in(world)
    app = tool(site)
    return site, app, devices.start(site, app)


def enter(world, code):
    form = {"csrf_token": csrf_of(world.site.http.get(devices.PAGE)), "user_code": code}
    return Denied(world.site.http.post(devices.PAGE, form, status="*"), NONE)


@case("device.access_denied")
def access_denied(world):
    site, app, started = begun(world)
    devices.deny(site, started)
    return poll(world, app, started["device_code"])


@case("device.code_client_changed")
def code_client_changed(world):
    site, app, started = begun(world)
    set_client(site, app, epoch=7)
    return poll(world, app, started["device_code"])


@case("device.code_gone")
def code_gone(world):
    site, app, started = begun(world)
    with site.db() as db:
        db.query(DeviceCode).delete()
    return poll(world, app, started["device_code"])


@case("device.code_of_application")
def code_of_application(world):
    site, app, started = begun(world)
    devices.allow(site, started)
    with site.db() as db:
        db.execute(update(AuthorizationCode).values(redirect_uri="https://app.example.org/"))
    return poll(world, app, started["device_code"])


@case("device.code_other_client")
def code_other_client(world):
    site, _app, started = begun(world)
    return poll(world, tool(site), started["device_code"])


@case("device.code_unknown")
def code_unknown(world):
    return poll(world, tool(world.site), "dc_DEVICE-marker")


@case("device.expired")
def expired(world):
    site, app, started = begun(world)
    devices.expire(site)
    return poll(world, app, started["device_code"])


@case("device.slow_down")
def slow_down(world):
    _site, app, started = begun(world)
    poll(world, app, started["device_code"])
    return poll(world, app, started["device_code"])


@case("device.user_code_wrong")
def user_code_wrong(world):
    signed_in(world)
    return enter(world, "WDJB-MJHT")


@case("device.user_code_expired")
def user_code_expired(world):
    site, _app, started = begun(world)
    devices.expire(site)
    return enter(world, started["user_code"])


@case("device.user_code_answered")
def user_code_answered(world):
    site, _app, started = begun(world)
    devices.deny(site, started)
    return enter(world, started["user_code"])


@case("device.code_withdrawn")
def code_withdrawn(world):
    site = signed_in(world)
    app = application(site, "native")
    device_code = devices.approved(site, app, "openid")
    with site.db() as db:
        db.query(AuthorizationCode).delete()
    return grant(world, app, NONE, grant_type=DEVICE_GRANT, device_code=device_code)
