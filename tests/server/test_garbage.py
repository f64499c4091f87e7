"""The garbage collector while a process starts."""

import gc
import subprocess
import sys

import click
import pytest

from authsite.cli import authsite
from authsite.server.worker import no_collections


@pytest.fixture
def unfrozen():
    yield
    gc.unfreeze()


@pytest.mark.parametrize("error", [None, ValueError])
def test_what_exists_at_the_start_is_kept_out_of_collections(unfrozen, error):
    before = gc.get_freeze_count()
    try:
        with no_collections():
            assert not gc.isenabled()
            if error:
                raise error
    except ValueError:
        pass
    assert gc.isenabled()
    assert gc.get_freeze_count() > before


def test_so_is_what_a_command_imports(unfrozen):
    before = gc.get_freeze_count()
    assert authsite.get_command(click.Context(authsite), "user").name == "user"
    assert gc.get_freeze_count() > before
    assert gc.isenabled()


def test_the_interpreter_ends_without_a_search_of_what_a_command_has_loaded():
    """What is registered with `atexit` first is called last."""
    code = (
        "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count())); "
        "from authsite.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "--version"]  # which imports no command
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout.split()[-1]) > 0
