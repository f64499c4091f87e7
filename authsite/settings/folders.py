"""The folders of a site's own files and templates, and the checks of both at the start."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from .definitions import Settings
from .errors import InvalidSetting
from .lookup import documented_key
from .urls import is_file_name

MAX_FILES = 20 * 1024 * 1024  # bytes in all: each process keeps them in memory
TEMPLATES = Path(__file__).parent.parent / "templates"


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
    """What is wrong with the site's own files, templates, and the settings that name a file."""
    files: Mapping[str, Path] = {}
    if cfg.static_folder:
        try:
            files = files_of(cfg.static_folder)
        except ValueError as error:
            yield _error("static_folder", error, cfg.static_folder)
            return
    for attribute, place in _places(cfg):
        if is_file_name(place) and place not in files:
            advice = "give https://…, a path that begins with /, or a file's name in static-folder"
            yield _error(attribute, f"there is no such file in static-folder; {advice}", place)


def _places(cfg: Settings) -> Iterator[tuple[str, str]]:
    for attribute in ("site_logo", "site_icon", "support_url"):
        if place := getattr(cfg, attribute):
            yield attribute, place
    for place in cfg.footer_links.values():
        yield "footer_links", place


def _error(attribute: str, message: object, value: str) -> InvalidSetting:
    return InvalidSetting(documented_key(attribute), str(message), value=repr(value))
