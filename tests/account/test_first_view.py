"""GET /v1/user, the most frequent request, finds its view at once."""


def test_the_view_that_shows_the_user_is_tried_first(site):
    views = site.app.registry.introspector.get_category("views")
    methods = [
        each["introspectable"]["request_methods"]
        for each in views
        if each["introspectable"]["route_name"] == "authsite.user"
    ]
    assert methods == ["GET", "PATCH", "DELETE"]
