"""Packaging of authsite; the tools' settings are in pyproject.toml."""

from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from setuptools import Command, find_packages, setup
from setuptools.command.build import build
from setuptools.command.build_py import build_py

PRODUCTION_INI = "production.ini"
CATALOGUES = [str(path) for path in Path().glob("authsite/locale/*/LC_MESSAGES/*.po")]


class BuildWithIni(build_py):
    """Copy production.ini from the top of the repository into the package."""

    def run(self):
        super().run()
        if not self.editable_mode:
            self.copy_file(PRODUCTION_INI, str(Path(self.build_lib, "authsite", PRODUCTION_INI)))

    def get_outputs(self, *arguments, **more):
        """All files in the build folder, including production.ini."""
        copied = str(Path(self.build_lib, "authsite", PRODUCTION_INI))
        return [*super().get_outputs(*arguments, **more), copied]


class CompileCatalogues(Command):
    """Compile the translations into the package; beside their sources if it is editable.

    The methods are those of `setuptools.command.build.SubCommand`.
    """

    editable_mode = False
    user_options = ()

    def initialize_options(self):
        """Begin without a folder."""
        self.build_lib = None

    def finalize_options(self):
        """Take the build folder of the modules."""
        self.set_undefined_options("build_py", ("build_lib", "build_lib"))

    def run(self):
        """Compile each catalogue."""
        for source in CATALOGUES:
            with open(source, "rb") as file:
                catalogue = read_po(file)
            target = Path("" if self.editable_mode else self.build_lib, source).with_suffix(".mo")
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as file:
                write_mo(file, catalogue)

    def get_source_files(self):
        """The catalogues of the source distribution."""
        return CATALOGUES

    def get_outputs(self):
        """The compiled catalogues in the build folder."""
        return [str(Path(self.build_lib, each).with_suffix(".mo")) for each in CATALOGUES]

    def get_output_mapping(self):
        """The outputs that are copies of sources: none."""
        return {}


build.sub_commands = [*build.sub_commands, ("compile_catalogues", None)]


setup(
    name="authsite",
    version="0.1.0",
    description="OAuth 2.0 authentication service for Python shops: tokens, login pages, guards",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    cmdclass={"build_py": BuildWithIni, "compile_catalogues": CompileCatalogues},
    python_requires=">=3.11",
    packages=[*find_packages(include=["authsite", "authsite.*"]), "authsite.migrations"],
    # The migrations are at the top of the repository; a wheel has them inside the package.
    package_dir={"authsite.migrations": "migrations"},
    package_data={
        "authsite": ["py.typed", "**/templates/**/*", "static/**/*", "locale/**/*.po"],
        "authsite.migrations": ["versions/*.py", "*.mako"],
    },
    install_requires=[
        "setuptools>=77,<81",  # Pyramid 2.1 uses pkg_resources, of which 81 warns
        "pyramid>=2.1,<3",
        "pyramid_jinja2>=2.10,<3",
        "pyramid_tm>=2.6,<3",
        "pyramid_retry>=2.1,<3",
        "pyramid_mailer>=0.15.1,<0.16",
        "waitress>=3.0.1,<4",
        "granian>=2.8.7,<3",
        "uvloop>=0.22,<1; sys_platform != 'win32'",  # the event loop of Granian, if it is installed
        "SQLAlchemy>=2.0.58,<2.2",
        "zope.sqlalchemy>=4.1,<5",
        "alembic>=1.20,<2",
        "psycopg[binary]>=3.3,<4",
        "bcrypt>=5.0,<6",
        "argon2-cffi>=25.1,<26",  # verifies imported Argon2 hashes
        "cryptography>=46,<51",  # AES-GCM of values that are sealed
        "joserfc>=1.8,<2",  # ID tokens and their keys
        "webauthn>=3.0.1,<4",  # passkeys
        "segno>=1.6.6,<2",  # QR codes of authenticator apps
        "urllib3>=2.8,<3",  # requests to other providers
        "zxcvbn>=4.5,<5",
        "pydantic>=2.14,<3",
        "email-validator>=2.3,<3",
        "precis-i18n>=1.1.2,<2",
        "phonenumbers>=9,<10",
        "limits>=5.8,<6",
        "click>=8.3,<9",
        "rich>=15,<16",
        "structlog>=26,<27",
        "prometheus-client>=0.26,<0.27",
        "typing-extensions>=4.14,<5",
        "babel>=2.18,<3",
        "plaster-pastedeploy>=1.0.1,<2",
    ],
    extras_require={
        "redis": ["redis>=8,<9"],
        "opentelemetry": [
            "opentelemetry-sdk>=1.45,<2",
            "opentelemetry-exporter-otlp-proto-http>=1.45,<2",
        ],
    },
    entry_points={
        "console_scripts": ["authsite = authsite.cli:main"],
        "paste.app_factory": ["main = authsite:main"],
    },
)
