"""A site with a page that shows the consent page, and those around it, for what a test gives."""

from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED

from authsite.oauth.authorization import consent_page, pages
from authsite.oauth.clients import registered
from authsite.platform.http.rendering import render_page

CALLBACK = "https://wiki.example.net/callback"


def asking(config):
    """``build`` of a host that shows the pages to a user: ``/ask``, ``/choose``, ``/lead``.

    Their parameters are ``client``, ``scope`` and ``uri``.
    """
    for name in ("ask", "choose", "lead"):
        config.add_route(f"authsite.test.{name}", f"/{name}")
        config.add_view(
            globals()[f"_{name}"], route_name=f"authsite.test.{name}",
            permission=NO_PERMISSION_REQUIRED,
        )  # fmt: skip


def _asked(request):
    client = registered.find(request.authsite.ctx, request.GET["client"])
    return client, request.authsite.signed_in.acting_user(), request.GET.get("uri", CALLBACK)


def _ask(request):
    client, account, uri = _asked(request)
    scopes = request.GET.get("scope", "").split()
    values = consent_page.values(request, client, account, scopes, uri)
    return Response(render_page(request, consent_page.CONSENT, values))


def _choose(request):
    values = pages.select_account_values(request, *_asked(request))
    return Response(render_page(request, pages.SELECT_ACCOUNT, values))


def _lead(request):
    return consent_page.lead_to(request, "Wiki", request.GET["uri"])
