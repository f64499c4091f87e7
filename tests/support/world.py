"""The world as it is: nginx with TLS before two machines of an installed wheel on PostgreSQL."""

import itertools
import shutil
import ssl
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import httpx

from tests.support import databases, extent, manual, shop
from tests.support.certificates import Authority
from tests.support.front import Front
from tests.support.machine import Machine
from tests.support.servers import free_port
from tests.support.site import PASSWORD
from tests.support.watch import Watch

AUTH = "auth.example.test"  # the service
APP = "app.example.test"  # an application on the same site, in cors-origins
PARTNER = "app.partner.test"  # an application on another site, in cors-origins and return-origins
SHOP = "shop.example.test"  # an application that includes authsite
EVIL = "evil.example.test"  # a sibling of the service, in the hands of an attacker
ATTACKER = "attacker.test"  # a site of an attacker
HOSTS = (AUTH, APP, PARTNER, SHOP, EVIL, ATTACKER)

# Mails go to a folder, since the tests have no server for them. The origins are of applications.
# The demo of the web client, which production.ini switches off, is tested here behind TLS.
# All browsers have one address: together they sign in more often than people of one address.
# Hashes of the usual cost would take a fifth of the processor time of these tests.
_ENVIRONMENT = f"""\
AUTHSITE_MAIL_DRIVER=file
AUTHSITE_MAIL_FOLDER={{mailbox}}
AUTHSITE_CORS_ORIGINS=https://{APP} https://{PARTNER}
AUTHSITE_RETURN_ORIGINS=https://{PARTNER}
AUTHSITE_APP_PAGE=on
AUTHSITE_ADMIN_CONSOLE=on
AUTHSITE_BCRYPT_COST=10
AUTHSITE_LIMITS_LOGIN_ADDRESS=120/minute
"""
_SHOP_INI = """\
[app:main]
use = call:shop:main

[server:main]
use = egg:waitress#main
listen = 127.0.0.1:{port}
"""


class World:
    """All servers, started: ``auth`` are two machines of the service, ``shop`` includes it."""

    def __init__(self, folder, stack, installed):
        self.folder, self.installed = folder, installed
        self.mailbox, self.shop_mailbox = folder / "mail", folder / "shop-mail"
        self.authority = Authority(folder)
        self.front = Front(folder / "nginx", self.authority.sign(*HOSTS), free_port(), free_port())
        self._addresses = itertools.count(2)
        urls = _database("auth"), _database("shop")
        self.shop_url = urls[1]
        with ThreadPoolExecutor(2) as pool:
            shop = pool.submit(self._host_application, urls[1])
            self.auth, self.shop = self._machines(urls[0]), shop.result()
            self._build_front()
            pserve = ("python", "-m", "pyramid.scripts.pserve", "shop.ini")
            servers = [self.shop.running(*pserve), self.front.running()]
            for machine in self.auth:
                serve = manual.command("serve", port=machine.port)
                servers.append(machine.running(*serve, ready="Started worker-"))
            list(pool.map(stack.enter_context, servers))
        logs = [machine.log for machine in (*self.auth, self.shop)]
        self.watch = Watch(HOSTS, self.front.access_log, logs)

    def _build_front(self):
        self.front.authsite(AUTH, "authsite", [machine.port for machine in self.auth])
        self.front.authsite(SHOP, "shop", [self.shop.port])
        scripts = self.installed.static / "client"
        self.front.site(APP, PARTNER, folder=scripts, calls=f"https://{AUTH} https://{SHOP}")
        self.front.site(EVIL, ATTACKER)

    def _machines(self, url):
        """Both as docs/production.md has it; what it cannot know is added at the end."""
        first, second = (Machine(self.folder / name, self.installed) for name in ("one", "two"))
        urls = {"base_url": f"https://{AUTH}", "database_url": url}
        first.run(*manual.command("init", "--production", **urls))
        with open(first.folder / "authsite.env", "a") as file:
            file.write(manual.environment_lines() + _ENVIRONMENT.format(mailbox=self.mailbox))
        for name in ("production.ini", "authsite.env"):
            shutil.copy(first.folder / name, second.folder)
        for machine in (first, second) if extent.ALL else (first,):  # both have the same files
            machine.run(*manual.command("doctor"))
        return first, second

    def _host_application(self, url):
        machine = Machine(
            self.folder / "shop",
            self.installed,
            AUTHSITE_BASE_URL=f"https://{SHOP}",
            AUTHSITE_DATABASE_URL=url,
            AUTHSITE_TRUSTED_PROXIES="127.0.0.1",
            AUTHSITE_MAIL_DRIVER="file",
            AUTHSITE_MAIL_FOLDER=str(self.shop_mailbox),
            AUTHSITE_MAIL_SENDER="thread",
            AUTHSITE_BCRYPT_COST="10",
        )
        shutil.copy(shop.__file__, machine.folder)
        (machine.folder / "shop.ini").write_text(_SHOP_INI.format(port=machine.port))
        machine.run("authsite", "init", "--config", "shop.ini")
        return machine

    def mailboxes(self):
        """Folders of mails, and the host that each may link to."""
        return ((self.mailbox, AUTH), (self.shop_mailbox, SHOP))

    def client(self, host=AUTH, address=None):
        """Something other than a browser that calls ``host``; from a separate address."""
        trust = ssl.create_default_context(cafile=self.authority.path)
        address = address or f"127.0.0.{next(self._addresses)}"
        return Caller(self.front, host, trust, address)

    def register(self, email=None, host=AUTH, prefix=""):
        """A new user with `PASSWORD`; the e-mail address."""
        email = email or f"user-{uuid4().hex[:12]}@example.com"
        with self.client(host) as http:
            body = {"email": email, "password": PASSWORD}
            answer = http.post(f"{prefix}/v1/register", json=body)
            assert answer.status_code == 201, answer.text
        return email


class Caller(httpx.Client):
    """An HTTP client that reaches ``host`` through nginx, and verifies its certificate."""

    def __init__(self, front, host, trust, address):
        super().__init__(
            base_url=f"https://{host}",
            timeout=30,
            transport=_Through(front, trust, address),
        )


class _Through(httpx.BaseTransport):
    def __init__(self, front, trust, address):
        self._ports = {"https": front.tls, "http": front.plain}
        self._transport = httpx.HTTPTransport(verify=trust, local_address=address)

    def handle_request(self, request):
        url = request.url
        request.extensions["sni_hostname"] = url.host
        request.url = url.copy_with(host="127.0.0.1", port=self._ports[url.scheme])
        response = self._transport.handle_request(request)
        request.url = url
        return response

    def close(self):
        self._transport.close()


def _database(name):
    return databases.new_url("postgresql", None, name, databases.postgres_server("system"))
