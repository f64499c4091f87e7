"""The garbage collector while a process starts."""

import gc

import pytest

from authsite.server.garbage import no_collections


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
