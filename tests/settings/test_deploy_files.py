"""deploy/: the documentation shows these files, and what they name exists."""

import json
import re
import shutil
import subprocess

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from authsite.platform.settings.sources import unknown_variables
from tests.conftest import need
from tests.support.home import CHECKOUT

DEPLOY = CHECKOUT / "deploy"
COMPOSE = DEPLOY / "container" / "compose.yaml"
DASHBOARD = DEPLOY / "grafana" / "authsite.json"
ALERTS = DEPLOY / "prometheus" / "alerts.yaml"


def blocks(page, language):
    """The code blocks of a page of the documentation."""
    text = (CHECKOUT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", text)


@pytest.mark.parametrize(
    ("language", "file"), [("ini", "systemd/authsite.service"), ("nginx", "nginx/authsite.conf")]
)
def test_the_installation_page_shows_the_file(language, file):
    assert blocks("production.md", language) == [(DEPLOY / file).read_text(encoding="utf-8")]


def test_the_unit_takes_every_right_away_that_it_can():
    unit = (DEPLOY / "systemd" / "authsite.service").read_text()
    for line in (
        "Type=notify",  # authsite/server/worker.py
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
        "ProtectSystem=strict",
        "PrivateTmp=yes",
        "MemoryDenyWriteExecute=yes",
        "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX",
        "SystemCallFilter=@system-service",
    ):
        assert f"\n{line}\n" in unit


def test_the_containers_are_read_only_and_their_variables_are_settings():
    compose = yaml.safe_load(COMPOSE.read_text())
    services = compose["services"]
    for name in ("authsite", "init", "nginx"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in services[name]["security_opt"]
    assert "init" not in [name for name in services if "profiles" not in services[name]]
    named = services["authsite"]["environment"]
    assert unknown_variables(dict.fromkeys(named, "x")) == []
    given = set(re.findall(r"\$\{(\w+)", COMPOSE.read_text()))
    example = (DEPLOY / "container" / "env.example").read_text()
    assert given == set(re.findall(r"^(\w+)=", example, re.MULTILINE))


def test_a_container_that_ends_starts_again_and_nginx_does_not_need_it_to_be_reachable():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    for name in ("authsite", "db", "nginx"):
        # Docker takes any `docker kill` for a stop: then `unless-stopped` has no effect.
        assert services[name]["restart"] == "always"
    # And podman, even with `always`: so the reload comes from within.
    page = (CHECKOUT / "docs" / "docker.md").read_text(encoding="utf-8")
    assert "docker compose exec authsite sh -c 'kill -HUP 1'" in page
    assert "kill -s HUP" not in page
    # In the network of a container that has ended nginx would stay unreachable.
    assert services["nginx"]["network_mode"] == "host"


def test_authsite_sees_the_addresses_of_clients_and_only_this_machine_connects_to_it():
    compose = yaml.safe_load(COMPOSE.read_text())
    authsite = compose["services"]["authsite"]
    assert authsite["ports"] == ["127.0.0.1:6543:6543"]
    [network] = compose["networks"]["default"]["ipam"]["config"]
    assert authsite["environment"]["AUTHSITE_TRUSTED_PROXIES"] == network["subnet"]
    # nginx has the published port as its upstream, and listens on both kinds of addresses.
    nginx = (DEPLOY / "nginx" / "authsite.conf").read_text()
    assert "server 127.0.0.1:6543;" in nginx
    for port in ("80;", "443 ssl;"):
        assert f"listen {port}" in nginx
        assert f"listen [::]:{port}" in nginx


def test_all_log_files_of_nginx_are_in_the_log_of_its_container():
    [*_, script] = yaml.safe_load(COMPOSE.read_text())["services"]["nginx"]["command"]
    written = re.findall(r"_log (\S+)", (DEPLOY / "nginx" / "authsite.conf").read_text())
    assert {*written} <= {*re.findall(r"ln -sf /dev/std(?:out|err) (\S+)", script)}


def test_the_secrets_of_the_containers_are_in_no_commit_and_in_no_image():
    ignored = (CHECKOUT / ".gitignore").read_text().splitlines()
    assert {"deploy/container/.env", "deploy/container/tls/"} <= {*ignored}
    # Only what the Containerfile copies is sent to the builder.
    first, *sent = [
        line
        for line in (CHECKOUT / ".dockerignore").read_text().splitlines()
        if not line.startswith("#")
    ]
    containerfile = (DEPLOY / "container" / "Containerfile").read_text()
    copied = re.findall(r"^COPY (?!--from)(\S+)", containerfile, re.MULTILINE)
    assert first == "*"
    assert {name.partition("/")[0] for name in copied} == {line.lstrip("!") for line in sent}


def rules():
    return yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]


def panels():
    return json.loads(DASHBOARD.read_text())["panels"]


def expressions():
    """All expressions of alerts and dashboard."""
    yield from (rule["expr"] for rule in rules())
    yield from (target["expr"] for panel in panels() for target in panel["targets"])
    variables = json.loads(DASHBOARD.read_text())["templating"]["list"]
    yield from (each["query"]["query"] for each in variables[1:])


def test_alerts_and_dashboard_ask_for_metrics_and_labels_that_exist(site):
    site.http.get("/login")
    text = site.http.get("/metrics", extra_environ={"REMOTE_ADDR": "127.0.0.1"}).text
    families = list(text_string_to_metric_families(text))
    kinds = {"histogram": ("_bucket", "_count", "_sum"), "counter": ("_total",)}
    printed = {
        f"{family.name}{suffix}" for family in families for suffix in kinds.get(family.type, ("",))
    }
    asked = {name for each in expressions() for name in re.findall(r"\bauthsite_\w+", each)}
    assert asked
    assert asked <= printed
    labels = {label for family in families for each in family.samples for label in each.labels}
    found = {label for each in expressions() for label in re.findall(r"[{,](\w+)=", each)}
    assert found - {"job", "instance", "alertname", "alertstate"} <= labels | {"limit", "outcome"}


def test_each_alert_names_a_section_of_the_operations_page():
    text = (CHECKOUT / "docs" / "operations.md").read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}
    for rule in rules():
        page, anchor = rule["annotations"]["runbook"].split("#")
        assert page == "docs/operations.md"
        assert anchor in anchors
        assert rule["labels"]["severity"] in ("page", "ticket")


def promtool(*arguments):
    need(shutil.which("promtool"), "promtool (prometheus)")
    run = subprocess.run(
        ["promtool", *arguments], cwd=ALERTS.parent, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_prometheus_reads_the_files_and_each_alert_fires_when_it_should(tmp_path):
    promtool("check", "config", "prometheus.yaml")
    promtool("test", "rules", "alerts_test.yaml")
    # Grafana replaces its variables; then each expression of the dashboard is one of Prometheus.
    asked = [
        each.replace("$__rate_interval", "1m") for each in expressions() if "label_" not in each
    ]
    named = [{"record": f"e{number}", "expr": each} for number, each in enumerate(asked)]
    file = tmp_path / "dashboard.yaml"
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": named}]}))
    promtool("check", "rules", str(file))


def test_each_alert_has_a_test_in_which_it_fires():
    cases = yaml.safe_load((DEPLOY / "prometheus" / "alerts_test.yaml").read_text())["tests"]
    fired = {
        each["alertname"]
        for case in cases
        for each in case.get("alert_rule_test", ())
        if each["exp_alerts"]
    }
    assert fired == {rule["alert"] for rule in rules()}


def test_the_interval_of_scrapes_fits_the_dashboard():
    """Grafana's $__rate_interval is four intervals of 15 s unless its data source says otherwise.

    With Prometheus' own default of a minute there would be one value in it, and no rate.
    """
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yaml").read_text())
    assert {job["scrape_interval"] for job in config["scrape_configs"]} == {"15s"}


def test_the_dashboard_belongs_to_no_instance_of_grafana_and_its_panels_do_not_overlap():
    dashboard = json.loads(DASHBOARD.read_text())
    assert not dashboard.keys() & {"id", "__inputs", "gnetId"}
    assert [each["type"] for each in dashboard["templating"]["list"]] == ["datasource", "query"]
    fields = set()
    for panel in panels():
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert panel["type"] in ("timeseries", "stat")  # parts of Grafana itself
        at = panel["gridPos"]
        own = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert max(x for x, _ in own) < 24
        assert not own & fields
        fields |= own
    assert len({panel["id"] for panel in panels()}) == len(panels())
