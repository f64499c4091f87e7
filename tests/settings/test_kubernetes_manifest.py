"""examples/kubernetes/authsite.yaml and docs/managed-postgresql.md.

What they name exists, and their settings are valid.
"""

from functools import cache
from hashlib import sha256

import click
import pytest
import yaml

from authsite.cli import authsite
from authsite.platform.settings import load, read_ini
from authsite.platform.settings.sources import unknown_variables
from tests.support import guides, servers
from tests.support.home import CHECKOUT
from tests.support.site import SECRET, WEB

FILE = CHECKOUT / "examples" / "kubernetes" / "authsite.yaml"
VALUES = {
    "AUTHSITE_SECRET": SECRET,
    "AUTHSITE_SEALING_KEY": sha256(b"manifest").hexdigest(),
    "AUTHSITE_CLIENTS_WEB_ID": WEB["clients.web.id"],
    "AUTHSITE_CLIENTS_WEB_SECRET": WEB["clients.web.secret"],
    "AUTHSITE_METRICS_TOKEN": SECRET[::-1],
}


@cache
def objects():
    """The objects of the file, by kind and name."""
    found = list(yaml.safe_load_all(FILE.read_text("utf-8")))
    named = {(each["kind"], each["metadata"]["name"]): each for each in found}
    assert len(named) == len(found)
    return named


def pod():
    return objects()["Deployment", "authsite"]["spec"]["template"]["spec"]


def containers():
    return [*pod()["initContainers"], *pod()["containers"]]


def variables():
    """The settings of a container, filled in."""
    secret = objects()["Secret", "authsite"]["stringData"]
    given = secret | objects()["ConfigMap", "authsite"]["data"]
    assert {name for name in secret if secret[name] == "replace"} == VALUES.keys()
    return given | VALUES


def ini(folder):
    path = folder / "production.ini"
    path.write_text(objects()["ConfigMap", "authsite-files"]["data"]["production.ini"])
    return path


def test_its_settings_are_settings_and_valid(tmp_path):
    found = variables()
    assert unknown_variables(found) == []
    cfg = load(read_ini(ini(tmp_path)), found)
    assert cfg.production
    mounted = f"{pod_mounts()['files']}/postgresql.crt"
    assert f"sslmode=verify-full&sslrootcert={mounted}" in cfg.database_url.reveal()
    assert "postgresql.crt" in objects()["ConfigMap", "authsite-files"]["data"]


def pod_mounts():
    [_, container] = containers()
    return {each["name"]: each["mountPath"] for each in container["volumeMounts"]}


def test_what_an_object_refers_to_is_in_the_file():
    deployment = objects()["Deployment", "authsite"]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    budget = objects()["PodDisruptionBudget", "authsite"]["spec"]
    assert deployment["selector"]["matchLabels"] == budget["selector"]["matchLabels"] == labels
    service = objects()["Service", "authsite"]["spec"]
    assert service["selector"] == labels
    [port] = pod()["containers"][0]["ports"]
    assert service["ports"][0]["targetPort"] == port["name"]
    assert budget["minAvailable"] < deployment["replicas"]
    for container in containers():
        assert ("ConfigMap", container["envFrom"][0]["configMapRef"]["name"]) in objects()
        assert ("Secret", container["envFrom"][1]["secretRef"]["name"]) in objects()
        assert {each["name"] for each in container["volumeMounts"]} == {
            each["name"] for each in pod()["volumes"]
        }
    assert pod()["volumes"][0]["configMap"]["name"] == "authsite-files"


def test_its_probes_ask_for_paths_that_answer(site):
    container = pod()["containers"][0]
    asked = {
        each: container[f"{each}Probe"]["httpGet"]["path"]
        for each in ("startup", "liveness", "readiness")
    }
    assert asked == {"startup": "/healthz", "liveness": "/healthz", "readiness": "/readyz"}
    for path in asked.values():
        # A kubelet asks with the address of the pod as the host.
        assert site.http.get(path, headers={"Host": "10.244.1.7:6543"}).status_int == 200


def test_its_containers_have_no_rights_that_they_do_not_need():
    assert pod()["securityContext"]["runAsNonRoot"] is True
    image = (CHECKOUT / "deploy" / "container" / "Containerfile").read_text()
    user = pod()["securityContext"]
    assert f"USER {user['runAsUser']}:{user['runAsGroup']}\n" in image
    assert pod()["automountServiceAccountToken"] is False
    for container in containers():
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def test_a_service_of_this_name_adds_no_variables_that_look_like_settings():
    assert pod()["enableServiceLinks"] is False
    assert unknown_variables({"AUTHSITE_PORT": "tcp://10.0.0.1:80"}) == ["AUTHSITE_PORT"]


@pytest.mark.parametrize("number", [0, 1])
def test_the_commands_of_its_containers_exist(number):
    words = list(containers()[number]["args"])
    context = click.Context(authsite, **authsite.context_settings)
    command = authsite.get_command(context, words.pop(0))
    command.make_context("authsite", words, parent=context)


def test_the_init_container_can_run_again_and_writes_no_file(tmp_path):
    folder = tmp_path / "srv"
    folder.mkdir()
    path = ini(folder)
    found = variables() | {"AUTHSITE_DATABASE_URL": f"sqlite:///{tmp_path}/a.sqlite"}
    first, second = (servers.authsite("init", ini=path, **found) for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "the client `web`" in first.stdout + first.stderr
    assert [each.name for each in folder.iterdir()] == ["production.ini"]


def test_the_page_has_the_url_of_the_manifest_and_the_timeouts_of_the_role():
    found = {each.language: each.text for each in guides.blocks("managed-postgresql")}
    name, _, url = found["ini"].strip().partition("=")
    assert url.replace("…", "replace") == objects()["Secret", "authsite"]["stringData"][name]
    [others] = [each for each in guides.blocks("high-availability") if "ALTER ROLE" in each.text]
    assert found["sql"] == others.text
