"""Forgot and reset, from the request to the new password."""


def test_a_reset_works_once_and_ends_what_was_issued(site):
    keys, user = site.client(), site.user()
    old = site.login(keys)
    body = {"email": "Ann@example.com", "reset_url": "http://localhost/password/reset"}
    site.http.post_json("/v1/password/forgot", body, status=202)
    token = site.reset_token(user)
    new = {"email": user.email, "token": token, "password": "a purple wolf at tea 77"}
    assert site.http.post_json("/v1/password/reset", new, status=200)
    site.http.post_json("/v1/password/reset", new, status=422)
    site.me(old["access_token"], status=401)
    site.login(keys, status=400)
    site.login(keys, password=new["password"])
