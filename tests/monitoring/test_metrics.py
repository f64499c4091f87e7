"""GET /metrics: what it counts."""

import re
import threading

import pytest
from prometheus_client.parser import text_string_to_metric_families

from authsite.monitoring.exposition import exposition
from authsite.platform.audit.seals import sealing
from authsite.platform.mail import sender
from authsite.platform.passwords import HashPool
from authsite.platform.passwords.hashing import HashCapacityExceeded
from authsite.platform.runtime.counters import TASK_SUCCESS, counted
from authsite.platform.settings.rate_limits import RATE_LIMITS
from authsite.platform.tasks import cleanup
from authsite.sign_in.sessions import models
from tests.support import databases
from tests.support.pages import sign_in
from tests.support.site import PASSWORD, Site, bearer

pytestmark = pytest.mark.both_databases

LOCAL = {"REMOTE_ADDR": "127.0.0.1"}


# Prometheus' own parser takes half a second for the thousands of numbers of a process that has run
# many tests; test_deploy_files.py has the format from it.
SAMPLE = re.compile(r"^(?:authsite_)?(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
VALUE = re.compile(r'="((?:[^"\\]|\\.)*)"')


class Scrape:
    """The numbers of a scrape, or how much they have grown since another one."""

    def __init__(self, site, **environ):
        text = site.http.get("/metrics", extra_environ=LOCAL, **environ).text
        self.numbers = {
            (name, *sorted(VALUE.findall(labels))): float(number)
            for name, labels, number in SAMPLE.findall(text)
        }

    def __getitem__(self, key):
        return self.numbers.get(key, 0)

    def since(self, before, *key):
        return self[key] - before[key]


def test_requests_are_counted_by_route_method_and_status(site):
    site.http.get("/metrics", extra_environ=LOCAL)
    before = Scrape(site)
    site.http.get("/v1/user", status=401)
    site.http.get("/v1/user", status=401)
    site.http.get("/nope/anna@example.com", status=404)
    site.http.request("/v1/user", method="BREW", status=405)
    after = Scrape(site)
    assert after.since(before, "request_seconds_count", "401", "GET", "authsite.user") == 2
    assert after.since(before, "request_seconds_bucket", "+Inf", "401", "GET", "authsite.user") == 2
    assert after.since(before, "request_seconds_sum", "401", "GET", "authsite.user") > 0
    assert after.since(before, "request_seconds_count", "404", "GET", "none") == 1
    assert after.since(before, "responses_total", "4xx") == 4
    assert after.since(before, "responses_total", "2xx") == 0  # not the scrapes
    assert after.since(before, "request_seconds_count", "405", "authsite.user", "other") == 1


def test_the_decisions_of_guards_are_counted_with_their_reason(site):
    keys = site.client(scope="a")
    site.user()
    tokens = site.login(keys)
    before = Scrape(site)
    site.me(tokens["access_token"])
    site.http.get("/v1/guard/api", headers=bearer(tokens["access_token"]), status=204)
    asked = "/v1/guard/api?scope=a"
    site.http.get(asked, headers=bearer(tokens["access_token"]), status=403)
    for _ in range(2):  # unlike the number of inactive tokens
        site.me("rubbish", status=401)
    site.http.get("/v1/user", status=401)
    site.logout(tokens["access_token"])
    site.me(tokens["access_token"], status=401)
    site.http.get("/account", status=302)
    site.http.get("/account", headers={"Accept": "application/json"}, status=401)
    site.http.get("/v1/guard/web", status=401)
    sign_in(site)
    site.http.get("/account", status=200)
    after = Scrape(site)
    grown = {
        key[1:]: after[key] - before[key]
        for key in after.numbers
        if key[0] == "guard_decisions_total" and after[key] != before[key]
    }
    assert grown == {
        ("accepted", "api"): 3,  # the logout too
        ("api", "insufficient_scope"): 1,
        ("api", "invalid_token"): 2,
        ("api", "no_token"): 1,
        ("api", "inactive_token"): 1,
        ("redirected", "web"): 1,
        ("unauthenticated", "web"): 2,
        ("accepted", "web"): 1,
    }


def test_hash_waits_and_rejections_are_counted(site):
    before = Scrape(site)
    pool, go_on = HashPool(threads=1, queue=0), threading.Event()
    first = threading.Thread(target=pool.run, args=(lambda: go_on.wait(20),))
    first.start()
    while not pool.callers:
        threading.Event().wait(0.001)
    with pytest.raises(HashCapacityExceeded):
        pool.run(lambda: None)
    go_on.set()
    first.join()
    after = Scrape(site)
    assert after.since(before, "hash_wait_seconds_count") == 1
    assert after.since(before, "hashes_rejected_total") == 1
    assert after["hash_waiting",] == 0


def test_logins_with_a_password_are_counted_on_all_paths(site):
    keys = site.client()
    site.user()
    before = Scrape(site)
    tokens = site.login(keys)
    site.try_login(keys, "wrong-password")
    site.try_login(keys, username="nobody@example.com")
    site.refresh(keys, tokens["refresh_token"])  # no login
    sign_in(site)
    after = Scrape(site)
    assert after.since(before, "logins_total", "succeeded") == 2
    assert after.since(before, "logins_total", "failed") == 2


def test_limits_are_counted_by_name(site_with):
    site = site_with(limits="on", **{"limits.login-address": "2 per minute"})
    before = Scrape(site)
    keys = site.client()
    for _ in range(3):
        site.try_login(keys)
    assert Scrape(site).since(before, "rate_limited_total", "login-address") == 1


def test_mails_and_limits_are_shown_as_0_before_the_first():
    """Else Prometheus would not see the growth to 1: no alert for the first mail that is dead."""
    found = {
        (sample.name, value): sample.value
        for family in text_string_to_metric_families(
            exposition({"counted": {}, "gauges": {}}, None, None).decode()
        )
        for sample in family.samples
        for value in sample.labels.values()
    }
    mails = {("authsite_mails_total", state) for state in ("waiting", "sent", "expired", "dead")}
    limits = {("authsite_rate_limited_total", name) for name in RATE_LIMITS}
    logins = {("authsite_logins_total", outcome) for outcome in ("succeeded", "failed")}
    responses = {("authsite_responses_total", each) for each in ("2xx", "3xx", "4xx", "5xx")}
    assert found == dict.fromkeys(mails | limits | logins | responses, 0)


def test_responses_are_counted_by_class_without_probes_and_scrapes(site):
    before = Scrape(site)
    for path, status in (("/v1/user", 401), ("/nothing", 404), ("/login", 200), ("/healthz", 200)):
        site.http.get(path, status=status)
    after = Scrape(site)
    grown = [after.since(before, "responses_total", each) for each in ("2xx", "4xx", "5xx")]
    assert grown == [1, 2, 0]


def counted_now():
    return dict(counted()[TASK_SUCCESS.name])


def test_a_task_that_has_never_succeeded_has_the_time_of_its_start(site, frozen):
    """Else the alert for a task that fails would say nothing of one that fails from the start."""
    services, stopped = site.app.registry["authsite"], threading.Event()
    stopped.set()
    for make_job in (cleanup.make_job, sealing.make_job, sender.make_job):
        job = make_job(services)
        job.stop()
        job.run()
    models.run(services.last_used, stopped, stopped)
    assert counted_now()["last_used",] == [frozen.now().timestamp()] * 2  # it writes at its end
    start = frozen.now().timestamp()
    tasks = [("cleanup",), ("audit_sealing",), ("mail",)]
    assert {task: counted_now()[task] for task in tasks} == {task: [0, start] for task in tasks}
    name = "task_last_success_timestamp_seconds"
    assert Scrape(site)[name, "cleanup"] == start
    frozen.advance(60)
    TASK_SUCCESS.note("cleanup")
    assert counted_now()["cleanup",] == [start + 60, start]
    assert Scrape(site)[name, "cleanup"] == start + 60


def test_mails_that_wait_are_shown_with_their_age_and_sent_ones_are_counted(site, frozen):
    site.user()
    form = {"email": "ann@example.com", "reset_url": "http://localhost/password/reset"}
    site.http.post("/v1/password/forgot", form)
    frozen.advance(90)
    site.app.registry["authsite.monitoring"].outbox.forget()
    waiting = Scrape(site)
    assert waiting["outbox_waiting",] == 1
    assert waiting["outbox_oldest_seconds",] == 90
    assert waiting["outbox_due_seconds",] == 90
    site.mails()
    site.app.registry["authsite.monitoring"].outbox.forget()
    sent = Scrape(site)
    assert sent.since(waiting, "mails_total", "sent") == 1
    assert sent["outbox_waiting",] == sent["outbox_oldest_seconds",] == 0


def test_with_the_database_away_the_rest_is_still_shown(fresh_url):
    site = Site(databases.migrated(fresh_url))
    with databases.away(site.database):
        scrape = Scrape(site)
    assert ("outbox_waiting",) not in scrape.numbers
    assert scrape["database_up",] == 0
    assert scrape["processes",] == 1
    assert scrape["resident_memory_bytes",] > 10_000_000
    assert ("db_connections_in_use", "prepared") in scrape.numbers
    site.database.dispose()


@pytest.mark.control("X04")
def test_no_metric_has_an_identifier(site_with):
    site = site_with(limits="on")
    keys, user = site.client(), site.user()
    tokens = site.login(keys)
    site.me(tokens["access_token"])
    site.try_login(keys, "wrong-password", username="mallory@example.com")
    site.http.get(f"/v1/email/verify/{user.id}/abc?expires=1&signature=geheim", status="*")
    site.http.get("/p4th-with-a-secret", status=404)
    text = site.http.get("/metrics", extra_environ=LOCAL).text
    for value in (
        "ann@", "mallory", str(user.id), keys.client_id, keys.client_secret, PASSWORD,
        tokens["access_token"], "192.0.2.1", "geheim", "p4th", "wrong-password",
    ):  # fmt: skip
        assert value not in text
