"""The pages speak of a second proof in the words of its method."""

import pytest

from authsite.sign_in import gate
from authsite.sign_in.method import Method, Words, Wrong
from tests.support.pages import sign_in, submit

WORDS = Words(
    title="Say the word",
    way="Say a word instead",
    lead="The word of %(address)s is in the book.",
    label="The word",
    hint="It has four letters.",
    autocomplete="off",
    wrong="That is another word.",
    used="That was the word of yesterday.",
    missing="Enter the word.",
)


def verify(ctx, _target, given, pending):
    codes = {"used": "code_used", "wrong": "invalid_code"}
    if given["code"] in codes:
        return Wrong(codes[given["code"]])
    return gate.admit(ctx, pending.account, ("otp",))


def method(name, **more):
    return Method(
        name, ("otp",), lambda _ctx, account: account is not None, verify, always=True, **more
    )


def with_two_ways(config):
    config.add_sign_in_method(method("word", words=WORDS))
    config.add_sign_in_method(method("gesture"))


@pytest.fixture
def site(host_with):
    made = host_with(with_two_ways, limits="on")
    made.user(confirmed=True)
    return made


def asked(site, name):
    sign_in(site)
    return site.http.get(f"/login/factor?method={name}")


def test_the_page_has_the_words_of_the_method(site):
    page = asked(site, "word")
    field = page.html.find("input", {"name": "code"})
    assert page.html.h1.text == "Say the word"
    assert page.html.find("p", class_="lead").text == "The word of ann@example.com is in the book."
    assert page.html.find("label", {"for": field["id"]}).text == "The word"
    assert page.html.find(id=field["aria-describedby"]).text == "It has four letters."
    assert field["autocomplete"] == "off"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("wrong", "That is another word."),
        ("used", "That was the word of yesterday."),
        ("", "Enter the word."),
    ],
)
def test_an_error_has_the_words_of_the_method(site, code, said):
    asked(site, "word")
    answer = submit(site, "/login/factor", status=422, method="word", code=code)
    assert answer.html.find("p", class_="error").text == f"Error: {said}"


def test_a_link_leads_to_the_method_in_its_words_or_by_its_name(site):
    assert [link.text for link in asked(site, "gesture").html.select(".ways a")] == [WORDS.way]
    assert [link.text for link in asked(site, "word").html.select(".ways a")] == ["gesture"]


def test_a_method_without_words_is_asked_for_in_general_ones(site):
    page = asked(site, "gesture")
    assert page.html.h1.text == "Confirm that it is you"
    assert "Code" in page.html.find("label").text
    answer = submit(site, "/login/factor", status=422, method="gesture", code="wrong")
    assert "This was not accepted. Try again, or use another way." in answer.html.text
