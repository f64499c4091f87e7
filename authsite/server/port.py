"""The port of the service, which no second ``authsite serve`` can use.

Each worker listens on a separate socket with SO_REUSEPORT (Granian, on Linux). So the kernel
would let another service of the same user listen beside them, and would deal the connections out.
A first look at the port does not prevent that: two services that start at the same moment both
find it free.
"""

import socket
import sys


def claim(host: str, port: int) -> socket.socket:
    """Claim the port for this process and those that it forks, until they end or close the socket.

    The kernel decides which of several processes gets it, for all hosts that overlap (``0.0.0.0``
    and ``::`` are all), whatever their users. Nothing is left behind when the processes are killed.
    Connections that still close (TIME_WAIT) are not in the way. Raises `OSError` if another process
    uses the port, or if the address is not one of this machine.
    """
    family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    claimed = socket.socket(family, kind)
    try:
        claimed.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        claimed.bind(address)
        claimed.listen(1)  # of several sockets without SO_REUSEPORT only one can listen
        if sys.platform == "linux":
            # From now on it is bound and does not listen. Without SO_REUSEADDR it keeps all away
            # that have no SO_REUSEPORT, which `claim` of another process has not either.
            claimed.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
            claimed.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            claimed.shutdown(socket.SHUT_RDWR)
        else:
            claimed.close()  # the server listens once, in this process
    except OSError:
        claimed.close()
        raise
    return claimed
