"""``python -m bench.serve bare 8001 2``: a rival on Granian's plain WSGI server.

``bridged`` is the bare view on the server of ``authsite serve``, ``guarded`` the same view behind
the api guard ($AUTHSITE_CONFIG).
``authsite`` instead of ``bare`` is authsite itself ($AUTHSITE_CONFIG) on Granian's WSGI interface,
without the ASGI bridge of ``authsite serve`` (authsite/server/asgi.py).
"""

import sys

from granian import Granian
from granian.constants import Interfaces

from authsite.server.worker import THREADS

ON_BRIDGE = ("bridged", "guarded", "skewed")

if __name__ == "__main__":
    name, port, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    Granian(
        "authsite.server.worker:wsgi_application" if name == "authsite" else f"bench.rivals:{name}",
        factory=True,
        address="127.0.0.1",
        port=port,
        interface=Interfaces.ASGINL if name in ON_BRIDGE else Interfaces.WSGI,
        workers=workers,
        blocking_threads=1 if name in ON_BRIDGE else THREADS,
        websockets=False,
    ).serve()
