"""A hub that is opened without its proxy, to which `client add --for jupyterhub` adds settings."""

import os
from pathlib import Path

from jupyterhub.proxy import Proxy

URL = os.environ["HUB_URL"]


class NoProxy(Proxy):
    """The hub itself listens at its public address: no notebook is started here."""

    should_start = False

    async def add_route(self, *_):
        """Nothing to lead anywhere."""

    async def delete_route(self, *_):
        """Nothing to lead anywhere."""

    async def get_all_routes(self):
        return {}


c = get_config()  # noqa: F821  JupyterHub's
c.JupyterHub.proxy_class = NoProxy
c.JupyterHub.bind_url = URL
c.JupyterHub.hub_bind_url = URL
c.JupyterHub.db_url = "sqlite:///hub.sqlite"
c.JupyterHub.cookie_secret = os.urandom(32)
c.JupyterHub.default_url = "/hub/home"
exec(Path(os.environ["HUB_CONFIG"]).read_text())  # noqa: S102  the file under test
