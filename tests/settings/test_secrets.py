"""No secret that can be guessed, none that is shown, and each in a file if wanted."""

import copy
import dataclasses
import json
import pickle
import secrets
import traceback
from base64 import urlsafe_b64encode
from contextlib import suppress
from hashlib import sha256

import pytest
import structlog

from authsite.platform.settings import (
    DEFINITIONS,
    Secret,
    SettingsError,
    load,
    revealed,
    smtp_server,
)
from authsite.platform.settings.definitions import hide_secrets
from authsite.platform.settings.secret import strong_secret

GOOD = "rA0t3vPqZ9_kWmB7yXn5-cLdE1sFhJ2g"
OLD = "9JqLw2-VtZr8_bNcX4mKsP6dYhG1fT3u"

GUESSABLE = [
    "changeme",
    "secret",
    GOOD[:31],
    "xZqxxZqZqqxZxqZxxqqZqxZxqZqxxZqqZxxZ",
    "T4f9kQ2xM" * 4,
    "a" * 64,
    "changeme" * 8,
    "change-me-to-something-long-and-random",
    "please-change-this-before-production-1",
    "your-256-bit-secret-your-256-bit-secret",
    "this-is-my-super-secret-signing-key",
    "super-secret-key-for-testing-1234",
    "development-secret-key-development-0001",
    "0123456789abcdef0123456789abcdef",
    "0123456789" * 4,
    "abcdefghijklmnopqrstuvwxyz0123456789",
    "passwordpasswordpasswordpassword1",
    "abcabc" * 8,
    "deadbeef" * 5,
    "1111111122222222333333334444444455555555",
    "192b9bdd22ab9ed4d12e236c78afcb9a393ec15f71bbf5dc987d54727823bcbf",
    "09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7",
    "a-string-secret-at-least-256-bits-long",
    "<CLIENT_SECRET> your_secret_here_1234567890",
]


def message(ini, environ):
    with pytest.raises(SettingsError) as refused:
        load(ini, environ)
    return str(refused.value)


@pytest.mark.control("K01")
@pytest.mark.parametrize("text", GUESSABLE)
def test_a_secret_that_can_be_guessed_stops_the_start_and_is_not_shown(text):
    for environ, key in (
        ({"AUTHSITE_SECRET": text}, "authsite.secret"),
        ({"AUTHSITE_SECRET": f"{GOOD}\n{text}"}, "authsite.secret"),
        ({"AUTHSITE_SECRET": GOOD, "AUTHSITE_PASSWORD_PEPPER": text}, "authsite.password-pepper"),
        (
            {"AUTHSITE_SECRET": GOOD, "CLIENT_WEB_ID": "w", "CLIENT_WEB_SECRET": text},
            "authsite.clients.web.secret",
        ),
    ):
        error = message({}, environ)
        assert error.startswith("One setting is wrong:")
        assert key in error
        assert len(text) < 10 or text not in error  # `secret` is a word of the message


@pytest.mark.control("K01")
@pytest.mark.parametrize("environ", [{}, {"AUTHSITE_SECRET": ""}, {"AUTHSITE_SECRET": "  "}])
def test_without_a_secret_nothing_starts_and_the_message_explains_how_to_get_one(environ):
    error = message({}, environ)

    assert error.startswith("One setting is wrong:")
    assert "authsite init" in error
    assert "authsite secret new" in error


@pytest.mark.control("K01")
@pytest.mark.parametrize("name", ["AUTHSITE_PASSWORD_PEPPER", "CLIENT_WEB_SECRET"])
def test_an_empty_value_does_not_switch_a_protection_off(name):
    environ = {"AUTHSITE_SECRET": GOOD, "CLIENT_WEB_ID": "web", "CLIENT_WEB_SECRET": OLD, name: ""}

    assert f"(from {name}): it is empty" in message({}, environ)


@pytest.mark.control("K01")
def test_secrets_of_32_bytes_are_taken_in_every_usual_notation():
    for make in (secrets.token_urlsafe, secrets.token_hex):
        for _ in range(500):
            assert strong_secret(make(32))
    assert strong_secret(secrets.token_hex(16))
    assert strong_secret("correct horse battery staple garden lamp".replace(" ", "-"))
    assert strong_secret("äöüßÄÖÜéèêàáâñç€")  # bytes are counted, not characters


@pytest.mark.control("K01")
def test_of_many_random_secrets_none_is_called_guessable():
    for number in range(5000):
        raw = sha256(b"%d" % number).digest()
        for text in (raw.hex(), raw.hex()[:32], urlsafe_b64encode(raw).decode().rstrip("=")):
            assert strong_secret(text).reveal() == text


@pytest.mark.control("K01")
def test_judging_a_secret_does_not_take_exponential_time():
    # Digits, with which a pattern of repeated repetitions would not end in this century.
    assert strong_secret("918273645091827364507162534980" * 20 + "$Zx")


@pytest.mark.parametrize("odd", ["\x00", "\x1b", "\udcff"])
def test_a_secret_with_control_characters_or_broken_text_is_refused(odd):
    for name in ("AUTHSITE_PASSWORD_PEPPER", "AUTHSITE_DATABASE_URL"):
        error = message({}, {"AUTHSITE_SECRET": GOOD, name: f"sqlite:///{odd}{OLD}"})
        assert error.startswith("One setting is wrong:")
        assert "give text in UTF-8 without control characters" in error


@pytest.mark.control("K03")
def test_secrets_are_lists_whose_first_is_used():
    cfg = load({}, {"AUTHSITE_SECRET": f"{GOOD} {OLD}", "AUTHSITE_PASSWORD_PEPPER": OLD})

    assert revealed(cfg.secret) == (GOOD, OLD)
    assert revealed(cfg.password_pepper) == (OLD,)


CANARY = "Kanarienvogel"
ALL_SECRETS = {
    "AUTHSITE_SECRET": f"{GOOD}{CANARY} {OLD}{CANARY}",
    "AUTHSITE_PASSWORD_PEPPER": OLD + CANARY,
    "AUTHSITE_DATABASE_URL": f"postgresql://u:{CANARY}@h/d",
    "AUTHSITE_SMTP_URL": f"smtp://u:{CANARY}@h:25",
    "AUTHSITE_LIMITS_STORAGE": f"redis://:{CANARY}@h",
    "CLIENT_WEB_ID": "web",
    "CLIENT_WEB_SECRET": GOOD + CANARY,
}


def shown(thing):
    """All that printing, formatting and logging make of ``thing``."""
    made = [repr(thing), str(thing), f"{thing}", f"{thing!r:>5}", f"{[thing]}"]
    made += [f"{thing} {[thing]!r}", repr(copy.deepcopy(thing)), repr(vars_of(thing))]
    for serialize in (json.dumps, pickle.dumps):
        with suppress(TypeError):
            made.append(repr(serialize(thing)))
    made.append(json.dumps(thing, default=str))
    made.append(structlog.processors.JSONRenderer()(None, "info", {"thing": thing}))
    made.append(structlog.dev.ConsoleRenderer(colors=False)(None, "info", {"thing": thing}))
    return "".join(made)


def vars_of(thing):
    return dataclasses.asdict(thing) if dataclasses.is_dataclass(thing) else thing


@pytest.mark.control("K02")
def test_nothing_that_prints_formats_or_serializes_a_setting_shows_a_secret():
    cfg = load({}, ALL_SECRETS)

    secrets_of = (
        *cfg.secret,
        *cfg.password_pepper,
        cfg.clients["web"].secret,
        cfg.database_url,
        cfg.smtp_url,
        smtp_server(cfg.smtp_url.reveal()).password,
        cfg.limits_storage,
    )
    for secret in secrets_of:
        assert CANARY in secret.reveal()
        assert CANARY not in shown(secret)
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(secret)
        with pytest.raises(TypeError):
            json.dumps(secret)
    for thing in (cfg.secret, cfg.clients["web"], smtp_server(cfg.smtp_url.reveal())):
        assert CANARY not in shown(thing)
    assert CANARY not in repr(cfg)
    assert "(hidden)" in repr(cfg)
    assert "variant='A'" in repr(cfg)


@pytest.mark.control("K02")
def test_each_secret_setting_has_the_type_that_hides_it():
    cfg = load({}, ALL_SECRETS | {"AUTHSITE_METRICS_TOKEN": GOOD, "AUTHSITE_LIMITS_KEY": "a" * 64})
    for name, definition in DEFINITIONS.items():
        value = getattr(cfg, name)
        if definition.secret:
            values = value if isinstance(value, tuple) else (value,)
            assert all(isinstance(each, Secret) for each in values), name
        else:
            assert not isinstance(value, Secret), name
    assert CANARY not in repr(cfg)


@pytest.mark.control("K02")
def test_no_error_and_no_traceback_shows_a_secret():
    wrong = {
        "AUTHSITE_SECRET": f"changeme-{CANARY}",
        "AUTHSITE_PASSWORD_PEPPER": CANARY,
        "AUTHSITE_DATABASE_URL": f"mysql://u:{CANARY}@h/d",
        "AUTHSITE_SMTP_URL": f"smtp://u:{CANARY}@h:x",
        "AUTHSITE_LIMITS_STORAGE": f"http://:{CANARY}@h",
        "AUTHSITE_BASE_URL": f"https://u:{CANARY}@h",
        "CLIENT_WEB_SECRET": CANARY,
    }
    ini = {"authsite.secrett": CANARY, "authsite.smtp-password": CANARY, "authsite.peper": CANARY}

    with pytest.raises(SettingsError) as refused:
        load(ini, wrong)

    assert len(refused.value.errors) == len(wrong) + len(ini) + 1
    assert CANARY not in "".join(traceback.format_exception(refused.value))


def test_secrets_are_equal_by_their_text():
    assert Secret(GOOD) == Secret(GOOD)
    assert Secret(GOOD) != Secret(OLD)
    assert Secret(GOOD) != GOOD
    assert len({Secret(GOOD), Secret(GOOD), Secret(OLD)}) == 2


@pytest.mark.control("K02")
def test_the_secrets_of_an_ini_are_hidden_where_they_lie():
    ini = {"authsite.secret": GOOD, "authsite.variant": "A", "secret": OLD, "authsite.limits": True}

    hide_secrets(ini)

    assert ini["authsite.secret"] == GOOD
    assert GOOD not in repr(ini)
    assert "'A'" in repr(ini)
    assert OLD in repr(ini)  # another program's


@pytest.mark.control("K02")
def test_a_secret_is_hidden_under_any_spelling_of_its_key():
    ini = {"Authsite.Secret": GOOD, "authsite.password.pepper": OLD}

    hide_secrets(ini)

    assert GOOD not in repr(ini)
    assert OLD not in repr(ini)


@pytest.mark.control("K02")
def test_each_secret_can_be_read_from_a_file(tmp_path):
    environ = {"CLIENT_WEB_ID": "web"}
    for name, value in ALL_SECRETS.items():
        if name.endswith("_ID"):
            continue
        file = tmp_path / name
        file.write_text(value.replace(" ", "\n") + "\r\n")
        environ[
            name.replace("CLIENT_", "AUTHSITE_CLIENTS_", name.startswith("CLIENT_")) + "_FILE"
        ] = str(file)

    assert load({}, environ) == load({}, ALL_SECRETS)
