"""Background tasks: which of them start, and where."""

from dataclasses import replace
from threading import Event, current_thread

import pytest
from pyramid.exceptions import ConfigurationError
from webtest import TestApp

from authsite.platform.context import Job
from authsite.platform.registrations import Registrations
from authsite.platform.tasks.background import (
    BACKGROUND_TASKS,
    BackgroundTask,
    make_jobs,
    start_jobs,
)
from tests.support.forks import in_forked_process
from tests.support.together import together

ENABLED = {"on": True, "off": False, "unset": None}


class Probe:
    """A task that notes that it was started, and on which thread it ran."""

    def __init__(self):
        self.runs, self.ran, self.thread = 0, Event(), None
        self.made = 0

    def make_job(self, services):
        self.made += 1
        return Job(self.run, stop=lambda: None, stop_timeout=1.0)

    def run(self):
        self.runs += 1
        self.thread = current_thread().name
        self.ran.set()


@pytest.fixture
def probes():
    return {name: Probe() for name in ENABLED}


def enabled(probes):
    return {name for name, probe in probes.items() if probe.made}


@pytest.fixture
def host(host_with, probes):
    """A host application with a task for each probe."""

    def build(config):
        for name, enabled in ENABLED.items():
            config.add_background_task(name, probes[name].make_job, enabled=enabled)

    return host_with(build)


def test_the_first_request_starts_what_the_settings_enable(host, probes):
    assert enabled(probes) == {"on"}
    assert probes["on"].runs == 0
    host.http.get("/login")
    assert probes["on"].ran.wait(30)
    assert probes["on"].thread == "authsite-on"


def test_requests_at_the_same_time_start_a_task_once(host, probes):
    together(*[lambda: TestApp(host.app).get("/login")] * 8)
    assert probes["on"].ran.wait(30)
    assert probes["on"].runs == 1


@pytest.mark.parametrize("includes", [1, 2])
def test_an_application_that_is_made_twice_starts_its_tasks_once(host_with, probes, includes):
    configs = []

    def build(config):
        for _ in range(includes - 1):  # once more than the host already has
            config.commit()
            config.include("authsite")
        config.add_background_task("on", probes["on"].make_job, enabled=True)
        configs.append(config)

    host = host_with(build)
    host.http.get("/login")
    TestApp(configs[0].make_wsgi_app()).get("/login")
    assert probes["on"].ran.wait(30)
    assert probes["on"].runs == 1


def test_two_tasks_of_one_name_are_an_error_at_start(host_with, probes):
    def build(config):
        for probe in probes.values():
            config.add_background_task("same", probe.make_job, enabled=True)

    with pytest.raises(ConfigurationError, match="same"):
        host_with(build)


def test_a_task_that_does_not_exist_stops_the_start(host_with):
    def build(config):
        config.add_background_task("lost", "no.such.module.make_job", enabled=True)

    with pytest.raises(ModuleNotFoundError):
        host_with(build)


def test_a_worker_of_the_server_starts_its_tasks_before_the_first_request(site, probes):
    tasks = {name: BackgroundTask(name, probes[name].make_job, ENABLED[name]) for name in ENABLED}
    services = site.app.registry["authsite"]
    services = replace(services, registrations=Registrations())
    BACKGROUND_TASKS.of(services).update(tasks)
    make_jobs(services, serve=True)
    start_jobs(services)
    start_jobs(services)  # with the first request
    assert enabled(probes) == {"on", "unset"}
    assert all(probes[name].ran.wait(30) for name in ("on", "unset"))
    assert {probe.runs for probe in probes.values()} == {0, 1}


@pytest.mark.parametrize("requests_before", [0, 1])
def test_the_tasks_run_in_a_process_that_was_forked(host, probes, requests_before):
    """uWSGI, and gunicorn with --preload, fork their processes from one that has loaded."""
    for _ in range(requests_before):
        host.http.get("/login")

    def child():
        probes["on"].ran.clear()
        host.http.get("/login")
        return probes["on"].ran.wait(10)

    assert in_forked_process(child)
    assert probes["on"].runs == requests_before
