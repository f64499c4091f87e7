"""Weak passwords are refused with a reason, strong ones whatever they are made of are taken."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from authsite.platform.i18n import translate
from authsite.platform.passwords.strength import PASSWORDS, SEASONS, judge, plain
from authsite.platform.runtime.catalogs import LANGUAGES
from tests.support.timing import within

CONTEXT = [
    "Acme Portal",
    "auth.acme.test",
    "anna.schmidt@example.test",
    "Anna Schmidt",
    "rosalinde",
    "+4930901820",
    None,
    "",
]


def code(password: str, min_length: int = 8) -> str | None:
    found = judge(password, min_length, CONTEXT).weakness
    return found and found.code


@pytest.mark.control("P02")
@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("password123", "too common"),
        ("p4$$w0rd", "too common"),
        ("12345678", "too common"),
        ("qwertyuiop", "too common"),
        ("!@#$%^&*()", "side by side"),
        ("aaaaaaaa", "Repeating"),
        ("abcdefgh", "Rows"),
        ("19870412", "Dates"),
        ("summer2026", "Seasons and months"),
        ("purplewolf", "common words"),
        ("dragon1987", "common words"),
        ("Acme2026", "name of this site"),
        ("AcmePortal2026!", "name of this site"),
        ("anna.schmidt@example.test", "your name, your address"),
        ("Anna.Schmidt1987", "your name, your address"),
        ("rosalinde1", "your name, your address"),
        ("+4930901820", "your name, your address"),
        ("\N{GRINNING FACE}" * 63, "Repeating"),
        ("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ!?", "Repeating"),
        ("Herbst2026!!", "Seasons and months"),
        ("anna.schmidt@example.test" * 3, "your name, your address"),
    ],
)
def test_a_weak_password_is_refused_with_a_reason_and_what_to_do(password, reason):
    found = judge(password, 8, CONTEXT).weakness
    assert found is not None
    assert found.code == "weak_password"
    assert reason in translate(found.message)
    assert "four unrelated words" in translate(found.message)


@pytest.mark.control("P02")
@pytest.mark.parametrize(
    "password",
    [
        "a" * 64,
        "1" * 64,
        "\N{GRINNING FACE}" * 64,
        "password" * 8,
        "x" * 4096,
        "a" * 70 + "b",
        "ab" * 40 + "c",
        "qwertyuiop" * 7,
        "Passw0rd" * 8,
        "Summer2026" * 5,
        "qwertyuiopasdfghjkl" * 4,
        "12345678901234567890!@#$%^&*",
        "Summer2026!!",
        "Winter-2025",
        "Acme2026!!",
        "Passw0rd!2026",
    ],
)
def test_l11_length_and_punctuation_alone_make_no_strong_password(password):
    """L11: repetitions of a short pattern, rows, and a word with a year and symbols."""
    assert code(password) == "weak_password"


@pytest.mark.control("P01")
@pytest.mark.parametrize(
    "password",
    [
        "".join(chr(0x1F600 + number) for number in range(64)),
        "correct horse battery staple" * 3,
        "a sentence that is much longer than any list of passwords, and easy to remember",
        "correct-horse",
        "k#9!x&2@",
        "correct horse battery staple",
        "gartenzaun im märz",
        "zx8#Kq1p",
        "  two  blanks at  both ends  ",
        "陽だまりの猫と古時計",
        "Anna has nine tame geese",
        "All work and no play makes Jack a dull boy. " * 93,
    ],
)
def test_a_strong_or_long_password_of_any_characters_is_taken(password):
    assert judge(password, 8, CONTEXT).weakness is None


@pytest.mark.control("P01")
def test_length_is_counted_in_code_points_of_the_composed_form():
    assert code("žůťčřáý") == "weak_password"
    assert code("zu\u030atc\u030cqra\u0301", 8) == "weak_password"  # seven, typed as ten
    assert code("zuatxqrak", 8) is None
    assert code("kq7z", 5) == "weak_password"


@pytest.mark.parametrize(
    ("password", "expected"),
    [
        ("", "required"),
        ("x" * 4097, "too_long"),
        ("é" * 2049, "too_long"),
        ("\ud800" * 5000, "too_long"),
        ("kitchen\0lamp", "invalid"),
        ("kitchen\tlamp", "invalid"),
        ("kitchen\ud800lamp", "invalid"),
    ],
)
def test_what_cannot_be_a_password_has_its_own_code(password, expected):
    assert code(password) == expected


@pytest.mark.control("P02")
def test_the_work_is_bounded_for_every_password():
    symbols = "4@8({[<3691!|0$5+7%2"
    passwords = ["a" * 4096, "\u0315\u0300" * 1024, symbols * 200]
    for at in range(20):
        turned = symbols[at:] + symbols[:at]
        passwords += [(turned * 4)[:63], (turned + turned[::3])[:31] * 2, "".join(turned)[:9] * 7]
    judge("warm up the lists", 8, CONTEXT)
    for password in passwords:
        # Unbounded, zxcvbn takes over a second for most of them.
        most = 0.25 if len(password) < 64 else 0.05
        assert within(lambda text=password: judge(text, 8, CONTEXT), most, runs=1) < most


def test_two_threads_do_not_judge_by_each_others_words():
    names = [f"quixzylm{letter}" for letter in "abcdefgh"]

    def both(number):
        own, other = names[number % 8], names[(number + 1) % 8]
        return judge(f"{own}2026", 8, [own]).weakness, judge(f"{other}-{own}", 8, [own]).weakness

    with ThreadPoolExecutor(8) as pool:
        for weak, strong in pool.map(both, range(200)):
            assert weak is not None
            assert strong is None


def test_the_word_lists_are_loaded_only_when_a_password_is_set():
    script = (
        "import sys, authsite.platform.passwords, authsite.platform.passwords.strength,"
        " authsite.sign_in.identifiers\n"
        "heavy = {'zxcvbn', 'phonenumbers', 'precis_i18n', 'email_validator'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)))"
    )
    end = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert end.stderr.strip() == ""


@pytest.mark.parametrize(
    "password",
    [
        *(
            "Verano2026",
            "Printemps2026",
            "Otoño2026!!",
            "Septembre2026",
            "Février2026",
            "Maerz2026!",
        ),
        *("contraseña1", "Contrasena!1", "MotDePasse1", "Kennwort123", "Bienvenue1!", "Пароль123"),
        *("pässwörd1", "pаsswоrd1", "ｐａｓｓｗｏｒｄ１", "P@ssw0rd123!", "!!P@ssw0rd1"),
        *("Müller-Shop1", "MuellerShop1", "mullershop12"),
    ],
)
def test_words_of_every_language_accents_and_letters_that_look_alike_are_known(password):
    found = judge(password, 8, ["Müller-Shop", "Mueller"])
    assert found.weakness
    assert found.weakness.code == "weak_password"


def test_every_language_has_its_seasons_and_its_words_for_a_password():
    for words in (SEASONS, PASSWORDS):
        assert set(LANGUAGES) <= set(words)
    assert all(len(SEASONS[each].split()) >= 16 for each in LANGUAGES)
    assert plain("Straße Łódź Crème") == "Strasse Lodz Creme"


@pytest.mark.parametrize(
    "password",
    ["gartenzaun im märz", "смелый кот ест рыбу", "陽だまりの猫と古時計", "quatre chats à été"],
)
def test_a_long_phrase_in_such_words_is_taken(password):
    assert judge(password, 8, ["authsite"]).weakness is None
