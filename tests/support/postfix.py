"""Debian's Postfix with the settings of its package, at a port of 127.0.0.1."""

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

from tests.support.servers import free_port, stop, wait_for_port

INSTALLED = Path("/etc/postfix")
# The services of Debian's master.cf that a mail needs which comes by SMTP. The mails end here.
MASTER = """\
127.0.0.1:{port} inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
proxymap unix - - n - - proxymap
anvil unix - - n - 1 anvil
discard unix - - n - - discard
postlog unix-dgram n - n - 1 postlogd
"""
# What Debian's installation writes into main.cf, with the certificate of its package ssl-cert.
MAIN = """
smtpd_tls_cert_file = {certificate}
smtpd_tls_key_file = {certificate}
smtpd_tls_security_level = may
smtpd_tls_loglevel = 1
"""
HERE = """
myhostname = vm.localdomain
queue_directory = {folder}/queue
data_directory = {folder}/data
maillog_file = {folder}/log/mail.log
maillog_file_prefixes = {folder}/log
alias_maps =
alias_database =
local_transport = discard
default_transport = discard
"""


def available():
    """Whether Postfix is installed with its settings, and this user may start it."""
    return (
        os.getuid() == 0
        and shutil.which("postfix", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is not None
        and (INSTALLED / "main.cf").exists()
    )


@contextmanager
def postfix(certificate):
    """Run Postfix with this certificate (PEM); yields its port and the path of its log."""
    # Not below the folders of pytest: its other users cannot enter those.
    folder = Path(f"/var/tmp/authsite-postfix-{os.getpid()}")
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("", "config", "queue", "data", "log"):
        (folder / name).mkdir(mode=0o755)
    shutil.chown(folder / "data", "postfix")
    config, port = folder / "config", free_port()
    own = config / "certificate.pem"
    shutil.copy(certificate, own)
    main = (INSTALLED / "main.cf").read_text() + MAIN.format(certificate=own)
    (config / "main.cf").write_text(main + HERE.format(folder=folder))
    (config / "master.cf").write_text(MASTER.format(port=port))
    for path in INSTALLED.glob("postfix-files*"):
        (config / path.name).symlink_to(path)
    with open(folder / "log" / "start.log", "wb") as output:
        process = subprocess.Popen(
            ["/usr/sbin/postfix", "-c", config, "start-fg"], stdout=output, stderr=output
        )
    try:
        wait_for_port(port, process)
        yield port, folder / "log" / "mail.log"
    finally:
        subprocess.run(
            ["/usr/sbin/postfix", "-c", config, "stop"], capture_output=True, check=False
        )
        stop(process)
        shutil.rmtree(folder, ignore_errors=True)
