"""A group that a route of the host application names."""

from tests.support import administrators
from tests.support.host import hello

GROUPS = "/v1/admin/groups"


def test_a_group_that_a_route_names_stays(host_with):
    """The other groups can be deleted; a route of the application names this one."""

    def build(config):
        config.add_route("reports", "/reports", guard="api", group="finance")
        config.add_view(hello, route_name="reports")

    site = host_with(build, **administrators.SETTINGS)
    administrators.make(site, "owner")
    headers = administrators.token(site, "admin:groups:write")
    for name in ("finance", "ops"):
        site.http.post_json(GROUPS, {"name": name, "title": name}, headers=headers, status=201)
    answer = site.http.delete(f"{GROUPS}/finance", headers=headers, status=409)
    assert "reports" in answer.json["message"]
    site.http.delete(f"{GROUPS}/ops", headers=headers, status=204)
