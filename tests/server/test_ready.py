"""systemd learns that the service is ready when the port answers, and not before."""

import os
import socket

import pytest

from authsite.server.worker import tell_systemd


@pytest.mark.parametrize("abstract", [False, True])
def test_ready_is_sent_once_the_port_accepts_connections(tmp_path, monkeypatch, abstract):
    name = f"@authsite-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd,
        socket.socket() as service,
    ):
        systemd.bind(name.replace("@", "\0") if abstract else name)
        service.bind(("127.0.0.1", 0))
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        tell_systemd(*service.getsockname())
        systemd.settimeout(0.4)
        with pytest.raises(TimeoutError):
            systemd.recv(100)
        service.listen()
        systemd.settimeout(10)
        assert systemd.recv(100) == b"READY=1"
    assert "NOTIFY_SOCKET" not in os.environ  # the workers are not the main process
