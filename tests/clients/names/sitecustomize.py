"""Names for a server of the tests: ``client.example`` is a public host, which runs on this machine.

authsite fetches what strangers name from public addresses alone. With this folder in PYTHONPATH a
process resolves the name to one, and a connection to that address comes here. So authsite itself
runs as it is, with all its checks.
"""

import socket

HOST, PUBLIC = "client.example", "93.184.216.34"
_resolve = socket.getaddrinfo


def getaddrinfo(host, port, *arguments, **options):
    if host == HOST:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (PUBLIC, port))]
    return _resolve("127.0.0.1" if host == PUBLIC else host, port, *arguments, **options)


socket.getaddrinfo = getaddrinfo
