"""Words that people choose passwords of, in each language of authsite, and letters that look alike.

zxcvbn's lists are English.
"""

import unicodedata
from collections.abc import Mapping, Sequence

# Typical of passwords that expire every quarter.
SEASONS: Mapping[str, str] = {
    "en": """
        spring summer autumn fall winter january february march april may june july august september
        october november december
    """,
    "de": """
        frühling frühjahr sommer herbst winter januar jänner februar märz april mai juni juli august
        september oktober november dezember fruehling fruehjahr jaenner maerz
    """,
    "es": """
        primavera verano otoño invierno enero febrero marzo abril mayo junio julio agosto septiembre
        setiembre octubre noviembre diciembre
    """,
    "fr": """
        printemps été automne hiver janvier février mars avril mai juin juillet août septembre
        octobre novembre décembre
    """,
}
# What people call a password, and how they greet; the last line is of languages without pages.
PASSWORDS: Mapping[str, str] = {
    "en": "password passphrase passcode welcome letmein secret",
    "de": "passwort kennwort passphrase willkommen geheim geheimnis hallo",
    "es": "contraseña clave bienvenido bienvenida secreto hola",
    "fr": "motdepasse passe bienvenue secret bonjour soleil",
    "": """
        пароль привет senha parola wachtwoord hasło heslo lösenord salasana adgangskode passord
        şifre parole jelszó лозинка κωδικός 密码 パスワード 비밀번호
    """,
}
# Letters without a decomposition, and those of other scripts, that are drawn as Latin ones.
_ALIKE = {
    **{"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th"},
    **{"ı": "i", "ŋ": "n", "ħ": "h"},
    **dict(zip("авеёкмнорстухіјѕԁһӏ", "abeekmhopctyxijsdhl", strict=True)),
    **dict(zip("αβεικνορτυχ", "abeiknoptux", strict=True)),
}
_TABLE = str.maketrans(
    _ALIKE | {key.upper(): value.upper() for key, value in _ALIKE.items() if len(key.upper()) == 1}
)


def plain(text: str) -> str:
    """``text`` without accents, and with the Latin letters that its letters look like."""
    bare = (c for c in unicodedata.normalize("NFKD", text) if unicodedata.category(c) != "Mn")
    return unicodedata.normalize("NFC", "".join(bare)).translate(_TABLE)


def all_words(lists: Mapping[str, str]) -> list[str]:
    """The words of all languages."""
    return [word for text in lists.values() for word in text.split()]


def with_plain(words: Sequence[str]) -> list[str]:
    """The words, and what `plain` makes of them, each once."""
    return list(dict.fromkeys([*words, *map(plain, words)]))
