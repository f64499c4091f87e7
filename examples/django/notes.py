"""Notes: every view needs the token of a user, unless it says otherwise."""

from collections import defaultdict

from access_tokens import MayWrite
from django.urls import path
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.response import Response

notes = defaultdict(lambda: ["Buy bread"])  # by the key of the user


@api_view()
@permission_classes([AllowAny])
def home(request):
    """Open to all; a token is verified, so the view knows a caller who sends one."""
    name = request.auth and (request.auth.username or request.auth.sub)
    return Response({"message": "Send an access token to /notes.", "user": name})


@api_view(["GET", "POST"])
@permission_classes([MayWrite])
def show_or_add(request):
    own = notes[request.user.pk]
    if request.method == "GET":
        return Response({"user": request.auth.username or request.auth.sub, "notes": own})
    text = request.data.get("text")
    if not text:
        return Response({"message": "The field text is missing."}, status=400)
    own.append(text)
    return Response({"notes": own}, status=201)


urlpatterns = [path("", home), path("notes", show_or_add)]
