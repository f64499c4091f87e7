"""`authsite init` where all secrets come from the environment, as in a container."""

import json

from click.testing import CliRunner

from authsite.cli import authsite
from authsite.platform.settings import new_sealing_key, new_secret


def test_no_file_is_named_that_is_not_there(tmp_path, monkeypatch):
    ini = tmp_path / "some.ini"
    ini.write_text("[app:main]\nuse = egg:authsite\n")
    variables = {
        "SECRET": new_secret(),
        "SEALING_KEY": new_sealing_key(),
        "DATABASE_URL": f"sqlite:///{tmp_path}/some.sqlite",
    }
    for name, value in variables.items():
        monkeypatch.setenv(f"AUTHSITE_{name}", value)
    monkeypatch.setenv("CLIENT_WEB_ID", "7a1b1c52-6f0f-4e0e-9b57-0f3a3a5a2c11")
    monkeypatch.setenv("CLIENT_WEB_SECRET", new_secret())
    monkeypatch.delenv("AUTHSITE_ENV_FILE", raising=False)
    done = CliRunner().invoke(authsite, ["init", "--config", str(ini)])
    assert done.exit_code == 0, done.output
    assert "no environment file was written" in done.output
    assert "authsite.env" not in done.output
    again = CliRunner().invoke(authsite, ["init", "--config", str(ini), "--json"])
    assert json.loads(again.stdout)["env_file"] is None
    assert sorted(path.name for path in tmp_path.glob("*.env")) == []
