"""The pages of a small project, to which `client add --for django` adds some."""

from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.urls import path


def home(request):
    token = f'<input type="hidden" name="csrfmiddlewaretoken" value="{get_token(request)}">'
    button = f'<form method="post" action="/oidc/logout/">{token}<button>Sign out</button></form>'
    return HttpResponse(f"user: {request.user} {button} {getattr(request.user, 'email', '')}")


urlpatterns = [path("", home)]
