"""docs/production.md: its commands are commands, its variables are settings."""

import re
import subprocess

import pytest

from authsite.cli import COMMANDS
from authsite.platform.settings import load
from authsite.platform.settings.sources import unknown_variables
from tests.support.home import CHECKOUT

TEXT = (CHECKOUT / "docs/production.md").read_text(encoding="utf-8")
FENCES = re.findall(r"^```(\w*)[^\n]*\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
SHELL = [text for language, text in FENCES if language == "sh"]


def test_every_block_names_its_language():
    assert {language for language, _ in FENCES} == {"sh", "sql", "ini", "nginx"}


@pytest.mark.parametrize("text", SHELL)
def test_a_shell_block_is_shell(text):
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    for command in re.findall(r"bin/authsite (\w+)", text):
        assert command in COMMANDS


def test_trial_8_every_variable_is_one_of_ours():
    named = set(re.findall(r"AUTHSITE_[A-Z_]+", TEXT))
    assert unknown_variables(dict.fromkeys(named, "x")) == []


def test_trial_18_what_the_text_sets_is_taken():
    written = dict(re.findall(r"^(AUTHSITE_[A-Z_]+)=(\S+)$", TEXT, re.MULTILINE))
    [url] = re.findall(r"--database-url (\S+)", TEXT)
    [base] = re.findall(r"--base-url (\S+)", TEXT)
    environ = {
        **written,
        "AUTHSITE_DATABASE_URL": url,
        "AUTHSITE_BASE_URL": base,
        "AUTHSITE_SECRET": "rA0t3vPqZ9_kWmB7yXn5-cLdE1sFhJ2g",
    }
    cfg = load({"authsite.production": "true", "authsite.mail-driver": "smtp"}, environ)
    assert cfg.trusted_proxies


def test_trial_24_the_proxy_overwrites_what_authsite_believes():
    [nginx] = [text for language, text in FENCES if language == "nginx"]
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in nginx
    assert 'proxy_set_header Forwarded "";' in nginx
    assert "proxy_add_x_forwarded_for" not in nginx
    assert re.search(r"listen 80;.*?return 301 https://", nginx, re.DOTALL)
    assert "proxy_set_header X-Request-Id $request_id;" in nginx  # no id that a caller chose
    assert 'proxy_set_header traceparent "";' in nginx  # and no trace that a caller began
    # At level error nginx writes the URLs of mailed links, and their tokens, while we are away.
    servers = nginx.count("\nserver {")
    assert len(re.findall(r"error_log [^;]+ crit;", nginx)) == servers == 2
    assert nginx.count("access_log /var/log/nginx/authsite.log authsite;") == servers
    [log] = re.findall(r"log_format authsite ([^;]+);", nginx)
    assert not re.search(r"\$(request|request_uri|args|query_string|http_referer)\b", log)
    [unit] = [text for language, text in FENCES if language == "ini"]
    assert "WorkingDirectory=" in unit
    assert "--host 127.0.0.1" in unit
