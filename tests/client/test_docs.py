"""docs/clients.md: its code runs, or is that of the examples, which other tests run."""

import re
from pathlib import Path

import pytest

import authsite_client
from tests.support.site import PASSWORD

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/clients.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
EXAMPLES = "\n".join(path.read_text() for path in (ROOT / "examples").glob("*/app.py"))


def test_the_blocks_without_imports_are_in_the_examples():
    blocks = [block for block in BLOCKS if "import" not in block]
    assert blocks
    for block in blocks:
        assert block in EXAMPLES


@pytest.mark.parametrize("name", ["django", "fastapi", "flask"])
def test_the_guide_of_a_framework_shows_the_example(name):
    page = (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")
    for path in (ROOT / f"examples/{name}").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert f'```python title="examples/{name}/{path.name}"\n{text}```' in page


def test_the_blocks_with_imports_run(live, client_of, capsys):
    """On a real authsite; the middleware is around an application that is never called."""
    site = live()
    resource_server = site.client("resource-server")
    names = {
        "app": None,
        "client_id": resource_server.client_id,
        "client_secret": resource_server.client_secret,
    }
    for block in (each for each in BLOCKS if "import" in each and "ca_file" not in each):
        block = block.replace("https://auth.example.org", site.service.url)
        block = block.replace("client id", site.keys.client_id)
        block = block.replace("client secret", site.keys.client_secret)
        exec(block.replace("her password", PASSWORD), names)  # noqa: S102  ours
    assert capsys.readouterr().out == "ann@example.com\n"
    names["verifier"].close()
    names["client"].close()


def test_the_blocks_for_the_connection_run(monkeypatch, tmp_path):
    from tests.support.certificates import Authority

    authority = Authority(tmp_path)
    [block] = [block for block in BLOCKS if "ca_file" in block]
    names = {}
    exec(block.replace("/etc/ssl/internal-ca.pem", str(authority.path)), names)  # noqa: S102  ours
    names["verifier"].close()


def test_every_exception_and_class_that_is_named_exists():
    named = set(re.findall(r"`([A-Z]\w+)(?:\(|`)", TEXT)) - {"SCRIPT_NAME", "TOKEN"}
    # Of a framework, or of a module that imports one.
    framework = {"CORSMiddleware", "EXCEPTION_HANDLER", "HttpxAuth", "RequestsAuth"}
    assert {name for name in named if not hasattr(authsite_client, name)} <= framework


@pytest.mark.parametrize("name", ["ApiError", "VerificationError", "Unreachable"])
def test_every_exception_is_documented(name):
    base = getattr(authsite_client, name)
    public = {each for each in authsite_client.__all__ if is_exception(each, base)}
    assert {each for each in public if each not in TEXT} <= {"MissingToken", "InvalidToken"}


def is_exception(name, base):
    found = getattr(authsite_client, name)
    return isinstance(found, type) and issubclass(found, base)


def test_the_benchmark_still_fits(monkeypatch, capsys):
    import importlib.util

    path = ROOT / "clients/python/bench/cache_hit.py"
    spec = importlib.util.spec_from_file_location("cache_hit", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROUNDS", 1)
    module.main()
    assert capsys.readouterr().out.count("µs") == 4
