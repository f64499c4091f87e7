"""A site whose users need a second proof: a method that these tests register."""

from pyramid.security import NO_PERMISSION_REQUIRED

from authsite.platform.http.errors import ApiError
from authsite.sign_in import gate
from authsite.sign_in.method import Method, Wrong
from authsite.sign_in.pages import lead_in
from authsite.sign_in.pending import read_key
from authsite.sign_in.sessions import cookies, service

RIGHT = "four six"


class Busy(ApiError):
    """Nothing was checked."""

    status, code, message = 503, "busy", "Try again later."


def verify(ctx, _target, given, pending):
    """A second proof: the same word for everyone. The word "busy" cannot be checked now."""
    if given["word"] == "busy":
        raise Busy
    if given["word"] != RIGHT:
        return None
    return gate.admit(ctx, pending.user, ("otp",))


METHOD = Method(
    "word",
    ("otp",),
    offered=lambda _ctx, account: account is not None,
    verify=verify,
    page="word",
    always=True,
)


def answer(request):
    """The view of the second step, in short."""
    former = cookies.session_key(request)
    given = {"word": request.GET["word"]}
    ctx = request.authsite.ctx
    try:
        begun = service.resume(ctx, read_key(request), METHOD.name, given, former_key=former)
    except gate.PendingEnded:
        request.response.status_int = 410
        return request.response
    if isinstance(begun, Wrong):
        request.response.status_int = 422
        return request.response
    return lead_in(request, begun)


def add_second_step(config):
    """What ``build`` of `host_with` does."""
    config.add_sign_in_method(METHOD)
    config.add_route("word", "/word")
    config.add_view(
        answer, route_name="word", request_method="POST", permission=NO_PERMISSION_REQUIRED
    )


def prove(site, word=RIGHT, **options):
    """Send the second proof; the answer."""
    return site.http.post(f"/word?word={word.replace(' ', '+')}", status="*", **options)
