"""Fixtures, and on which databases a test that asks for ``site`` runs."""

import gc
import os
import signal
import uuid
from pathlib import Path

import bcrypt
import pytest

# Before authsite is imported: a developer's own environment file must not reach the tests.
os.environ["AUTHSITE_ENV_FILE"] = "/nonexistent/authsite.env"
for _name in [name for name in os.environ if name.startswith(("CLIENT_", "API_"))]:
    del os.environ[_name]
for _name in [name for name in os.environ if name.startswith("AUTHSITE_")]:
    if _name != "AUTHSITE_ENV_FILE" and not _name.startswith("AUTHSITE_TEST_"):
        del os.environ[_name]

# Thousands of tests and hundreds of applications stay in memory. To look through them as often as
# Python does by itself took a quarter of the processor time.
gc.set_threshold(50_000)

from authsite.platform.db.base import Base
from authsite.platform.runtime import clock
from tests.support import (
    commands,
    databases,
    extent,
    first_imports,
    folders,
    quick_bcrypt,
    quick_keys,
    quick_start,
    selection,
    shared_sites,
    turns,
)
from tests.support.frozen import FrozenClock
from tests.support.host import HostSite
from tests.support.site import WEB, Site

quick_start.use()


def need(available, what):
    """Skip without ``what``; under AUTHSITE_TEST_REQUIRE=all (CI) fail instead."""
    if available:
        return
    if os.environ.get("AUTHSITE_TEST_REQUIRE") == "all":
        pytest.fail(f"{what} is required here and missing")
    pytest.skip(f"{what} is not installed")


def pytest_addoption(parser):
    """``--database sqlite`` leaves out the tests on other databases."""
    parser.addoption(
        "--database",
        choices=databases.BACKENDS,
        help="all tests of a database on this one alone, whatever their marks say",
    )


CLIENTS = Path(__file__).parent / "clients"


def pytest_ignore_collect(collection_path, config):
    """`tests/clients` has its own command (`make test-clients`): only if it is named."""
    named = any(
        Path(arg.partition("::")[0]).resolve().is_relative_to(CLIENTS) for arg in config.args
    )
    return True if collection_path == CLIENTS and not named else None


def pytest_collection(session):
    """The processes of a run share the work of the first import."""
    first_imports.import_in_turn(session.config.args, CLIENTS)


def pytest_report_header():
    """Under AUTHSITE_TEST_ALL also the seed."""
    return extent.headline()


SYSTEM = Path(__file__).parent / "system"


def pytest_generate_tests(metafunc):
    """On SQLite; on PostgreSQL, too, if the test or its folder is marked ``both_databases``.

    A test that parametrizes ``backend`` itself runs on that database.
    """
    if "backend" not in metafunc.fixturenames:
        return
    marks = metafunc.definition.iter_markers("parametrize")
    if any("backend" in mark.args[0] for mark in marks):
        return
    wanted = metafunc.config.getoption("database")
    both = extent.ALL or metafunc.definition.get_closest_marker("both_databases")
    chosen = (wanted,) if wanted else databases.BACKENDS if both else databases.BACKENDS[:1]
    metafunc.parametrize("backend", chosen, indirect=True, scope="session")


def pytest_collection_modifyitems(config, items):
    """Mark the tests that start processes, and deselect those on another database."""
    for item in items:
        if SYSTEM in item.path.parents:
            item.add_marker("slow")
    wanted = config.getoption("database")

    if wanted:
        left_out = {item for item in items if selection.backend_of(item, wanted) != wanted}
    else:
        left_out = set() if extent.ALL else selection.repeated_on_postgresql(items)
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(tryfirst=True)  # before the fixtures
def pytest_runtest_setup(item):
    """Hash quickly; what is about hashing, or starts an installed service, has bcrypt itself."""
    quick_bcrypt.use(quick_bcrypt.wanted(item.path))
    quick_keys.begin(item.path)


@pytest.hookimpl(trylast=True, specname="pytest_collection_modifyitems")
def pytest_take_files_in_turns(items):
    """Several processes are busy all the time, and end together."""
    items[:] = turns.in_turns(items)


@pytest.hookimpl(optionalhook=True)  # `make t` does without pytest-xdist
def pytest_xdist_auto_num_workers():
    """More processes than cores: the tests of servers and browsers often wait."""
    cores = len(os.sched_getaffinity(0))
    return max(cores, min(2 * cores, 8))


def pytest_collection_finish():
    """The tests themselves are not garbage: no collection has to look at them."""
    gc.freeze()


def pytest_configure(config):
    """Ctrl-C reaches commands; the time of an example of Hypothesis decides nothing."""
    # A shell that starts pytest in the background ignores Ctrl-C, and so would the commands that
    # tests start and stop.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not config.pluginmanager.hasplugin("hypothesispytest"):
        return  # `make t` saves the time to import it
    from hypothesis import HealthCheck, settings

    settings.register_profile(
        "patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("patient")


@pytest.fixture(scope="session", autouse=True)
def processes():
    """The processes that all tests share end with the tests: it is set up first, and ends last.

    That of `tests.support.commands` ends before coverage collects what it wrote.
    """
    yield
    commands.end_template()
    databases.remove_servers()


@pytest.fixture(scope="session")
def backend(request):
    """The name of the database at hand."""
    return request.param


# Kept for the whole process, not by fixtures: where files are spread over processes, pytest goes
# back and forth between the databases and would make everything again each time.
_URLS = {}


@pytest.fixture(scope="session")
def database_url(backend):
    """A migrated database that the tests of this process share."""
    if backend not in _URLS:
        url = databases.new_url(backend, folders.new_memory_folder(backend), "shared")
        _URLS[backend] = databases.migrated(url)
    return _URLS[backend]


@pytest.fixture
def fresh_url(backend, tmp_path):
    """A database of one test alone, still without a schema."""
    url = databases.new_url(backend, tmp_path, f"own_{uuid.uuid4().hex}")
    yield url
    databases.drop(url)


@pytest.fixture(scope="session")
def sites(database_url):
    """Applications by their settings; made once, since the start is the slow part."""

    def site_with(**settings):
        key = (database_url, *sorted(settings.items()))
        return shared_sites.get(key, lambda: Site(database_url, **settings))

    return site_with


@pytest.fixture
def site_with(sites):
    """A factory: ``site_with(refresh_grace="0s")`` is a site with these settings, empty."""
    return lambda **settings: shared_sites.emptied(sites(**settings))


@pytest.fixture
def site(site_with):
    """A site with the settings of `tests.support.site`."""
    return site_with()


@pytest.fixture
def frozen(monkeypatch):
    """The time, standing still: ``frozen.advance(seconds)`` moves it."""
    made = FrozenClock()
    monkeypatch.setattr(clock, "now", made.now)
    return made


@pytest.fixture
def host_with(database_url):
    """A factory of host applications on an empty database; see `HostSite`.

    What a function of a module builds is kept for later tests, as in `sites`. A test that asks
    twice for the same gets two applications.
    """
    made, used = [], set()

    def host(build, **options):
        def make():
            return HostSite(database_url, build, **options)

        key = (database_url, build, *sorted(options.items()))
        if shared_sites.can_be_asked_for_again(build, options) and key not in used:
            used.add(key)
            return shared_sites.emptied(shared_sites.get(key, make))
        made.append(make())
        return shared_sites.emptied(made[-1])

    yield host
    for site in made:
        site.database.dispose()


def with_ann(site):
    """``site``, emptied, with the web client and Ann, who is logged in (``token_of_ann``)."""
    site.new_browser()
    databases.empty(site.database)
    keys = site.first_party("web")
    site.user()
    site.token_of_ann = site.login(keys)["access_token"]
    return site


@pytest.fixture(scope="module")
def refusing(sites):
    """A site for one file of tests whose requests are all refused."""
    return with_ann(sites(**WEB))


@pytest.fixture
def unchanged(refusing):
    """Every row is after the test what it was before."""
    before = rows(refusing)
    yield
    assert rows(refusing) == before


@pytest.fixture
def renewed(sites):
    """``renewed()`` is that site, each time as it was at first."""
    return lambda: with_ann(sites(**WEB))


def rows(site):
    with site.database.autocommit.connect() as connection:
        return {
            table.name: sorted(map(str, connection.execute(table.select())))
            for table in Base.metadata.sorted_tables
            if table.name != "denied_requests"  # it says that nothing was done
        }


@pytest.fixture
def hashes(monkeypatch):
    """The list that grows by one with every password hash."""
    seen, real = [], bcrypt.hashpw
    monkeypatch.setattr(bcrypt, "hashpw", lambda *both: seen.append(1) or real(*both))
    return seen
