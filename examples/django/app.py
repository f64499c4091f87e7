"""Notes behind authsite, with Django REST framework: what is manage.py and wsgi.py in a project."""

import os
import sys

from django.core.management import execute_from_command_line
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
application = get_wsgi_application()

if __name__ == "__main__":
    address = f"127.0.0.1:{os.environ.get('PORT', '8000')}"
    execute_from_command_line([sys.argv[0], "migrate", "--verbosity", "0"])
    execute_from_command_line([sys.argv[0], "runserver", "--noreload", address])
