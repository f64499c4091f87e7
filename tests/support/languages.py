"""Texts of another language in tests, and a pseudo-locale, which is never shipped.

The pseudo-locale shows which texts are not translated, what breaks when a text is 40 % longer, and
what is not mirrored from right to left. It is made into a copy of the package, as Arabic, which has
six plural forms.
"""

import re
import shutil

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from authsite.platform.runtime.catalogs import DOMAIN, FOLDER

PSEUDO = "ar"
_ACCENTS = str.maketrans("aceinosuyACEINOSUY", "áçéíñóšúýÁÇÉÍÑÓŠÚÝ")
_UNCHANGED = re.compile(r"(%\(\w+\)s|\$\{\w+\}|<[^>]*>|&\w+;)")


def pseudo(text):
    """``text`` with accents, in brackets and 40 % longer; placeholders and tags stay."""
    parts = [
        part if _UNCHANGED.fullmatch(part) else part.translate(_ACCENTS)
        for part in _UNCHANGED.split(text)
    ]
    return f"[{''.join(parts)}{' ño' * max(1, round(len(_UNCHANGED.sub('', text)) * 0.4 / 3))}]"


def pseudo_package(folder):
    """A copy of authsite below ``folder`` that has the pseudo-locale; the variables to run it."""
    shutil.copytree(FOLDER.parent, folder / "authsite", ignore=shutil.ignore_patterns("*.pyc"))
    shutil.copytree(FOLDER.parents[1] / "migrations", folder / "migrations")
    messages = Catalog(locale=PSEUDO)
    for message in _catalog("de"):
        if isinstance(message.id, tuple):
            forms = tuple(pseudo(message.id[1]) for _ in range(messages.num_plurals))
            messages.add(message.id, forms)
        elif message.id:
            messages.add(message.id, pseudo(message.id))
    target = folder / "authsite" / "locale" / PSEUDO / "LC_MESSAGES"
    target.mkdir(parents=True)
    for ending, write in (("po", write_po), ("mo", write_mo)):
        with (target / f"{DOMAIN}.{ending}").open("wb") as file:
            write(file, messages)
    return {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}


def words_of(language):
    """A function from an English text, or a part of one, to its words in ``language``.

    Of a part, or of a text with placeholders, it is the longest piece without them.
    """
    if language == "en":
        return str
    if language == PSEUDO:
        texts = {_first(each.id): pseudo(_first(each.id)) for each in _catalog("de") if each.id}
    else:
        texts = {_first(each.id): _first(each.string) for each in _catalog(language) if each.id}

    def words(english):
        containing = (text for text in texts if english in text)
        whole = english if english in texts else next(containing, None)
        if whole is None:
            return english
        parts = _UNCHANGED.split(texts[whole])
        return max(parts, key=lambda part: (not _UNCHANGED.match(part), len(part)))

    return words


def _catalog(language):
    path = FOLDER / language / "LC_MESSAGES" / f"{DOMAIN}.po"
    with path.open("rb") as file:
        return read_po(file, locale=language)


def _first(text):
    return text if isinstance(text, str) else text[0]
