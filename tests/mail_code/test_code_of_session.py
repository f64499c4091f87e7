"""Codes that are mailed to a signed-in user: POST `/v1/user/mail-code`."""

import pytest
import transaction

from authsite.platform.mail.outbox import OutboxMessage
from authsite.sign_in.methods.mail_code import codes
from authsite.sign_in.methods.mail_code.pages import is_right, use_up
from authsite.users.caller import caller_of
from tests.support.mails import link_in, text_of
from tests.support.site import bearer

from .conftest import add_step, code_in, failures, plant, rows


def spend(request):
    """A view that takes a code; with ``refuse`` the request fails after that."""
    ctx, user = request.authsite.ctx, caller_of(request).signed_in_user()
    right = is_right(ctx, user, request.POST["mail_code"]) and use_up(ctx, user)
    request.response.status_int = 200 if right else 422
    if "refuse" in request.POST:
        raise RuntimeError("refused")
    return request.response


def add_view(config):
    add_step(config)
    config.add_route("spend", "/spend", guard="api")
    config.add_view(spend, route_name="spend", request_method="POST")


@pytest.fixture
def site(by_mail):
    made = by_mail(add_view)
    made.keys = made.client()
    made.token_of_ann = made.login(made.keys)["access_token"]
    return made


def ask(site, token=None, status=202):
    headers = bearer(token or site.token_of_ann)
    return site.http.post("/v1/user/mail-code", headers=headers, status=status)


def give(site, code, token=None, **more):
    headers = bearer(token or site.token_of_ann)
    return site.http.post("/spend", {"mail_code": code, **more}, headers=headers, status="*")


@pytest.mark.both_databases
def test_the_code_counts_once_in_the_sign_in_that_asked(site):
    ask(site)
    [mail] = site.mails()
    assert mail["To"] == "ann@example.com"
    other = site.login(site.keys)["access_token"]
    assert give(site, code_in(mail), other).status_int == 422
    assert give(site, code_in(mail)).status_int == 200
    assert give(site, code_in(mail)).status_int == 422
    assert failures(site)[0] == (site.ann.id, {"method": "email", "reason": "invalid_code"})


def test_a_request_that_fails_does_not_use_it_up(site):
    ask(site)
    code = code_in(site.mails()[0])
    for _ in range(6):
        with pytest.raises(RuntimeError, match="refused"):
            give(site, code, refuse="1")
        transaction.abort()
    assert give(site, code).status_int == 200


def test_five_wrong_codes_end_it(by_mail):
    site = by_mail(add_view, limits="off")
    site.keys = site.client()
    site.token_of_ann = site.login(site.keys)["access_token"]
    ask(site)
    code = code_in(site.mails()[0])
    assert [give(site, "BBBB-BBBB").status_int for _ in range(5)] == [422] * 5
    assert give(site, code).status_int == 422


def test_wrong_codes_are_counted_for_the_user(site):
    statuses = []
    for _ in range(2):
        ask(site)
        statuses += [give(site, "BBBB-BBBB").status_int for _ in range(4)]
    assert statuses == [422] * 5 + [429] * 3


def test_the_next_code_ends_the_one_before(site):
    ask(site)
    first = code_in(site.mails()[0])
    ask(site)
    assert give(site, first).status_int == 422
    assert give(site, code_in(site.mails()[0])).status_int == 200
    assert rows(site) == []


def test_it_works_for_ten_minutes(site, frozen):
    site.token_of_ann = site.login(site.keys)["access_token"]
    ask(site)
    code = code_in(site.mails()[0])
    frozen.advance(601)
    token = site.login(site.keys)["access_token"]
    assert give(site, code, token).status_int == 422


def test_over_the_limit_no_mail_goes_out_and_the_one_before_counts(site):
    for _ in range(5):
        ask(site)
    code = code_in(site.mails()[-1])
    ask(site)
    assert site.mails() == []
    assert give(site, code).status_int == 200


def test_the_link_shows_the_code_and_changes_nothing(site):
    ask(site)
    [mail] = site.mails()
    assert code_in(mail) in site.http.get(link_in(mail), status=200).text
    assert code_in(mail) in text_of(mail)
    assert give(site, code_in(mail)).status_int == 200
    site.http.get(link_in(mail), status=400)


def test_nothing_stored_has_the_code_and_no_key_opens_the_row(site):
    ask(site)
    [row] = rows(site)
    code = codes.code_of(site.app.registry["authsite"].keys, row.id)
    with site.db() as db:
        stored = str([vars(each) for each in db.query(OutboxMessage)]) + str(vars(row))
    assert code not in stored
    plant(site, row.key_hash)
    assert site.http.post("/prove", {"code": code}, status="*").status_int == 410


def test_personal_tokens_clients_and_strangers_get_none(site):
    site.http.post("/v1/user/mail-code", status=401)
    program = site.client(type="personal")
    token = site.token(program, grant_type="client_credentials").json["access_token"]
    ask(site, token, status=403)
    assert rows(site) == []


def test_it_ends_with_the_sign_ins(site):
    ask(site)
    code = code_in(site.mails()[0])
    with site.db() as db:
        ann = db.get(type(site.ann), site.ann.id)
        ann.epoch += 1
    token = site.login(site.keys)["access_token"]
    assert give(site, code, token).status_int == 422
