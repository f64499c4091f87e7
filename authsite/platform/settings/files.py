"""Files and folders that settings name: a site's own files and templates, and private files.

Both are checked at the start.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from authsite.platform.runtime import package
from authsite.platform.runtime.catalogs import compiled

from .definition import PREFIX
from .definitions import Settings, definition_of_key, documented_key
from .errors import InvalidSetting
from .sources import FILE_KEY, env_file_path, folder_of
from .urls import is_file_name, sqlite_file

MAX_FILES = 20 * 1024 * 1024  # bytes in all: each process keeps them in memory
TEMPLATES = package.FOLDER / "templates"
_PASSWORD = re.compile(r"://[^/@:]*:[^/@]+@")  # in a URL


def files_of(folder: str) -> dict[str, Path]:
    """The files below ``folder`` by relative path, without hidden ones.

    Raises `ValueError` with advice for a folder that cannot be read, a symbolic link that leads out
    of it, and files of more than `MAX_FILES`.
    """
    root = Path(folder).resolve()
    if not os.access(root, os.R_OK | os.X_OK) or not root.is_dir():
        raise ValueError("there is no such folder that this user may read; make it")
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if any(part.startswith(".") for part in name.split("/")) or not path.is_file():
            continue
        if not path.resolve().is_relative_to(root):
            raise ValueError(f"{name} is a symbolic link to another folder; copy the file")
        if not os.access(path, os.R_OK):
            raise ValueError(f"{name} cannot be read; make it readable for this user")
        found[name] = path
    if sum(path.stat().st_size for path in found.values()) > MAX_FILES:
        raise ValueError(f"the files have more than {MAX_FILES >> 20} MiB; move large ones away")
    return found


def folder_errors(cfg: Settings) -> Iterator[InvalidSetting]:
    """What is wrong with the translations, the site's own files and templates.

    And with the settings that name a file.
    """
    for language in cfg.languages:
        path = compiled(language)
        if path and not path.is_file():
            advice = "run `make dev` in a checkout; elsewhere install the wheel of authsite again"
            yield _error("languages", f"its translations are missing ({path}); {advice}", language)
    if cfg.templates_folder:
        for message in _template_errors(cfg.templates_folder):
            yield _error("templates_folder", message, cfg.templates_folder)
    files: Mapping[str, Path] = {}
    if cfg.static_folder:
        try:
            files = files_of(cfg.static_folder)
        except ValueError as error:
            yield _error("static_folder", error, cfg.static_folder)
            return
    missing = "there is no such file in static-folder; "
    for attribute, place in _places(cfg):
        if is_file_name(place) and place not in files:
            advice = "give https://…, a path that begins with /, or a file's name in static-folder"
            yield _error(attribute, f"{missing}{advice}", place)
    for each in cfg.providers:
        if each.icon and is_file_name(each.icon) and each.icon not in files:
            key = f"{PREFIX}providers.{each.name}.icon"
            advice = "give a path that begins with /, or a file's name in static-folder"
            yield InvalidSetting(key, f"{missing}{advice}", value=repr(each.icon))


def _template_errors(folder: str) -> Iterator[object]:
    from difflib import get_close_matches  # both only with this setting

    from jinja2 import Environment, TemplateSyntaxError

    try:
        files = files_of(folder)
    except ValueError as error:
        yield error
        return
    ours = files_of(str(TEMPLATES))
    environment = Environment(extensions=["jinja2.ext.i18n"])  # noqa: S701  it renders nothing
    for name, path in files.items():
        if name not in ours:
            similar = get_close_matches(name, ours, n=1)
            hint = f"did you mean {similar[0]}?" if similar else "docs/branding.md lists them"
            yield f"{name} has the name of no template of authsite; {hint}"
            continue
        try:
            environment.parse(path.read_text(encoding="utf-8"))
        except TemplateSyntaxError as error:
            yield f"{name}, line {error.lineno}: {error.message}; correct it"
        except UnicodeDecodeError:
            yield f"{name} is not text in UTF-8; save it as such"


def _places(cfg: Settings) -> Iterator[tuple[str, str]]:
    for attribute in ("site_logo", "site_icon", "support_url", "terms_url"):
        if place := getattr(cfg, attribute):
            yield attribute, place
    for attribute in ("support_url", "terms_url"):
        for place in cfg.translated.get(attribute, {}).values():
            yield attribute, place
    for links in (cfg.footer_links, *cfg.translated.get("footer_links", {}).values()):
        for place in links.values():
            yield "footer_links", place


def _error(attribute: str, message: object, value: str) -> InvalidSetting:
    return InvalidSetting(documented_key(attribute), str(message), value=repr(value))


def private_paths(
    settings: Settings, ini: Mapping[str, object], environ: Mapping[str, str]
) -> Iterator[Path]:
    """The paths that only their owner should be able to read (ASVS 13.3.1); some may not exist.

    These are the ini file if it contains a secret, the environment file, the file of a SQLite
    database, and the mail folder if mails are written to files.
    """
    file = ini.get(FILE_KEY)
    if file and any(_is_secret(key, str(value)) for key, value in ini.items() if value):
        yield Path(str(file))
    yield env_file_path(environ, folder_of(ini))
    if database := sqlite_file(settings.database_url.reveal()):
        yield database
    if settings.mail_driver == "file":
        yield Path(settings.mail_folder)


def exposed(path: Path) -> str | None:
    """If other users may read ``path``: a warning with the command that prevents it; else None.

    A device, such as ``/dev/null`` in the place of an environment file, holds nothing to read.
    """
    try:
        status = path.stat()
    except OSError:
        return None  # missing, or not accessible to this user
    if stat.S_ISCHR(status.st_mode):
        return None
    mode = stat.S_IMODE(status.st_mode)
    wanted = "700" if stat.S_ISDIR(status.st_mode) else "600"
    return f"others may read it (mode {mode:04o}): chmod {wanted} {path}" if mode & 0o077 else None


def _is_secret(key: str, text: str) -> bool:
    definition = definition_of_key(key)
    # A URL is a secret only if it contains a password; that in development.ini does not.
    return (
        definition is not None
        and definition.secret
        and ("://" not in text or _PASSWORD.search(text) is not None)
    )
