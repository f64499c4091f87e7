"""Notes behind authsite: every path but / needs an access token, and adding one a scope."""

import os
import sys

from django.conf import settings
from django.core.management import execute_from_command_line
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from authsite_client import IDENTITY, VerificationError, Verifier, WsgiMiddleware

notes = ["Buy bread"]


class Denials:
    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        return self.get_response(request)

    def process_exception(self, request, error):
        if isinstance(error, VerificationError):
            return HttpResponse(error.body, status=error.status, headers=dict(error.headers))


def home(request):
    return JsonResponse({"message": "Send an access token to /notes."})


@csrf_exempt  # a page of another site cannot send the header with the token
@require_http_methods(["GET", "HEAD", "POST"])
def show_or_add(request):
    identity = request.META[IDENTITY]
    if request.method != "POST":
        return JsonResponse({"user": identity.username, "notes": notes})
    identity.require("notes:write")
    text = request.POST.get("text")
    if not text:
        return JsonResponse({"message": "The field text is missing."}, status=400)
    notes.append(text)
    return JsonResponse({"notes": notes}, status=201)


urlpatterns = [path("", home), path("notes", show_or_add)]
settings.configure(
    ALLOWED_HOSTS=["localhost", "127.0.0.1"],
    MIDDLEWARE=[f"{__name__}.Denials"],
    ROOT_URLCONF=__name__,
    WSGI_APPLICATION=f"{__name__}.application",
)
verifier = Verifier(
    os.environ.get("AUTH_URL", "http://localhost:6543"),
    os.environ["AUTH_CLIENT_ID"],
    os.environ["AUTH_CLIENT_SECRET"],
)
application = WsgiMiddleware(get_wsgi_application(), verifier, exempt=["/"])

if __name__ == "__main__":
    address = f"127.0.0.1:{os.environ.get('PORT', '8000')}"
    execute_from_command_line([sys.argv[0], "runserver", "--noreload", address])
