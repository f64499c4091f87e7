"""Certificates for servers that tests start: self-signed ones, and an authority that signs."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """A certificate authority of the tests; ``path`` is its certificate (PEM)."""

    def __init__(self, folder):
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("authsite test authority")
        unsigned = _unsigned(self._name, self._name, self._key).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        self.path = folder / "authority.pem"
        self.path.write_bytes(_pem(unsigned.sign(self._key, hashes.SHA256())))

    def sign(self, *hosts):
        """A certificate for ``hosts`` and its key, in one PEM file; its path."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
        unsigned = _unsigned(_name(hosts[0]), self._name, key).add_extension(names, critical=False)
        path = self._folder / f"{hosts[0]}.pem"
        path.write_bytes(_pem(unsigned.sign(self._key, hashes.SHA256())) + _private_pem(key))
        return path


def make_certificate(folder, host="localhost"):
    """A self-signed certificate and its key for ``host``, in one PEM file; its path.

    ``host``: a name, or an IPv4 address.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(host)
    certificate = (
        _unsigned(name, name, key)
        .add_extension(x509.SubjectAlternativeName([_host(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{host}.pem"
    path.write_bytes(_pem(certificate) + _private_pem(key))
    return path


def server_context(path):
    """A TLS context that serves with the certificate at ``path``."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(path)
    return context


def _host(text):
    return x509.IPAddress(ip_address(text)) if text[-1].isdigit() else x509.DNSName(text)


def _name(common):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _unsigned(subject, issuer, key):
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
    )


def _pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private_pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
