"""The application in Pyramid of docs/mcp-server.md; its arguments are a port and settings."""

import json
import sys

from pyramid_notes import main  # the file under test, in PYTHONPATH
from waitress import serve

port, settings = sys.argv[1:]
serve(main({}, **json.loads(settings)), host="127.0.0.1", port=int(port), threads=8)
