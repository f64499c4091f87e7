"""Packaging of authsite; the tools' settings are in pyproject.toml."""

from setuptools import find_packages, setup

setup(
    name="authsite",
    version="0.1.0",
    description="OAuth 2.0 authentication service for Python shops: tokens, login pages, guards",
    license="MIT",
    python_requires=">=3.11",
    packages=[*find_packages(include=["authsite", "authsite.*"]), "authsite.migrations"],
    # The migrations stand at the top of the repository; a wheel carries them inside the package.
    package_dir={"authsite.migrations": "migrations"},
    package_data={
        "authsite": ["templates/**/*", "static/**/*", "locale/**/*"],
        "authsite.migrations": ["versions/*.py", "*.mako"],
    },
    install_requires=[
        "setuptools>=77,<81",  # Pyramid 2.1 asks for pkg_resources, which 81 warns about
        "pyramid>=2.1,<3",
        "pyramid_jinja2>=2.10,<3",
        "pyramid_tm>=2.6,<3",
        "pyramid_retry>=2.1,<3",
        "pyramid_mailer>=0.15.1,<0.16",
        "waitress>=3.0.1,<4",
        "granian>=2.8.7,<2.9",  # authsite/cli/door.py takes parts of it that may change
        "SQLAlchemy>=2.1,<2.2",
        "zope.sqlalchemy>=4.1,<5",
        "alembic>=1.20,<2",
        "psycopg[binary]>=3.3,<4",
        "bcrypt>=5.0,<6",
        "zxcvbn>=4.5,<5",
        "pydantic>=2.14,<3",
        "email-validator>=2.3,<3",
        "precis-i18n>=1.1.2,<2",
        "phonenumbers>=9,<10",
        "limits>=5.8,<6",
        "click>=8.3,<9",
        "rich>=15,<16",
        "structlog>=26,<27",
        "typing-extensions>=4.14,<5",
        "prometheus-client>=0.26,<1",
        "babel>=2.18,<3",
        "plaster-pastedeploy>=1.0.1,<2",
    ],
    extras_require={"redis": ["redis>=8,<9"]},
    entry_points={
        "console_scripts": ["authsite = authsite.cli:main"],
        "paste.app_factory": ["main = authsite:main"],
    },
)
