"""A command-line tool that signs in with a code, and the browser in which a person enters it.

app = tool(site)
started = start(site, app)
allow(site, started)                # the person, who has signed in before
tokens = poll(site, app, started)
"""

from datetime import timedelta

from sqlalchemy import update

from authsite.oauth.codes.models import AuthorizationCode
from authsite.oauth.device.service import CODE, DeviceCode
from authsite.oauth.models import DEVICE_GRANT
from authsite.platform.crypto.sealed import IdText
from authsite.platform.runtime import clock
from tests.support.authorizing import BASE, application
from tests.support.codes import code_of, codes
from tests.support.pages import csrf_of

PAGE = f"{BASE}/device"


def tool(site, **columns):
    """A native application."""
    columns = {"type": "native", "name": "Tool", **columns}
    return application(site, redirect_uris=["http://127.0.0.1/callback"], **columns)


def start(site, app, status=200, **form):
    """POST /v1/oauth/device; the answer's JSON."""
    form = {"client_id": app.client_id, "scope": "openid email", **form}
    form = {name: value for name, value in form.items() if value is not None}
    return site.http.post(f"{BASE}/v1/oauth/device", form, status=status).json


def poll(site, app, started, status=200, **form):
    """The tool asks for its tokens; the answer's JSON."""
    code = started if isinstance(started, str) else started["device_code"]
    form = {"grant_type": DEVICE_GRANT, "client_id": app.client_id, "device_code": code, **form}
    return site.http.post(f"{BASE}/v1/oauth/token", form, status=status).json


def refused(site, app, started):
    """The error of a request for the tokens."""
    return poll(site, app, started, 400)["error"]


def enter(site, user_code, status=200, **form):
    """The person enters a code; the answer."""
    if not isinstance(user_code, str):
        user_code = user_code["user_code"]
    form = {"csrf_token": csrf_of(site.http.get(PAGE)), "user_code": user_code, **form}
    return site.http.post(PAGE, form, status=status)


def press(site, page, decision, status=200):
    """Press a button of the question; the answer."""
    form = next(each for each in page.forms.values() if "decision" in each.fields)
    return form.submit("decision", value=decision, status=status)


def allow(site, started):
    """Enter the code and press "Allow"."""
    return press(site, enter(site, started), "allow")


def deny(site, started):
    """Enter the code and press "Do not allow"."""
    return press(site, enter(site, started), "deny")


def rows(site):
    """All device codes."""
    with site.db() as db:
        return db.query(DeviceCode).order_by(DeviceCode.created_at).all()


def ready(site):
    """As if the devices had waited for their interval."""
    with site.db() as db:
        db.execute(update(DeviceCode).values(poll_after=None))


def expire(site):
    """As if the lifetime of all device codes, and of their authorization codes, were over."""
    ago = clock.now() - timedelta(seconds=1)
    with site.db() as db:
        for model in (DeviceCode, AuthorizationCode):
            db.execute(update(model).values(expires_at=ago))


def approved(site, keys, scope):
    """The device code of a client that the user of the newest browser session has approved."""
    code_of(site, keys, scope, verifier=None, redirect_uri="")
    code = codes(site)[-1]
    with site.db() as db:
        db.add(
            DeviceCode(
                id=code.id, client_id=code.client_id, client_epoch=code.client_epoch,
                user_code=code.id.hex, scope=scope, created_at=code.created_at,
                expires_at=code.expires_at, interval=5, user_id=code.user_id,
                decided_at=code.created_at, approved=True,
            )
        )  # fmt: skip
    text = IdText(code.id, int(code.expires_at.timestamp()))
    return CODE.encode(site.app.registry["authsite"].keys, text)
