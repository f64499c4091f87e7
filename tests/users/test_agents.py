"""User agents as people see them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authsite.users.account import describe

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
SAFARI = "AppleWebKit/605.1.15 (KHTML, like Gecko)"
IOS = f"Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) {SAFARI}"
WINDOWS = f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT}"
AGENTS = {
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0": ("Firefox", "Linux"),
    f"{WINDOWS} Chrome/142.0.0.0 Safari/537.36": ("Chrome", "Windows"),
    f"{WINDOWS} Chrome/142.0.0.0 Safari/537.36 Edg/142.0": ("Edge", "Windows"),
    f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT} HeadlessChrome/156.0.0.0 Safari/537.36": (
        "Chrome",
        "Linux",
    ),
    f"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) {WEBKIT} Chrome/142.0.0.0 Safari/537.36": (
        "Chrome",
        "ChromeOS",
    ),
    f"Mozilla/5.0 (Linux; Android 10; K) {WEBKIT} Chrome/142.0.0.0 Mobile Safari/537.36": (
        "Chrome",
        "Android",
    ),
    f"Mozilla/5.0 (Linux; Android 14) {WEBKIT} SamsungBrowser/27.0 Chrome/125.0 Safari/537.36": (
        "Samsung Internet",
        "Android",
    ),
    "Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0": ("Firefox", "Android"),
    f"{IOS} Version/18.1 Mobile/15E148 Safari/604.1": ("Safari", "iPhone"),
    f"{IOS} CriOS/142.0 Mobile/15E148 Safari/604.1": ("Chrome", "iPhone"),
    f"{IOS} FxiOS/140.0 Mobile/15E148 Safari/605.1.15": ("Firefox", "iPhone"),
    f"{IOS} Mobile/15E148": ("Safari", "iPhone"),
    f"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) {SAFARI} Version/18.1 Safari/605.1.15": (
        "Safari",
        "Mac",
    ),
    "curl/8.5.0": ("curl", None),
    "python-requests/2.32.5": ("python-requests", None),
    "okhttp/4.12.0": ("okhttp", None),
    "Acme Reports/3 (Windows NT 10.0)": ("Acme Reports", "Windows"),
}


@pytest.mark.parametrize(("agent", "called"), AGENTS.items())
def test_well_known_agents_have_names(agent, called):
    assert describe(agent) == called


@pytest.mark.parametrize(
    "agent", [None, "", "   ", "Mozilla/5.0", "123", "<script>alert(1)</script>"]
)
def test_an_unknown_agent_has_no_name(agent):
    assert describe(agent) == (None, None)


def test_a_long_name_is_cut():
    assert describe("a" * 5000).program == "a" * 40


@given(st.text(max_size=400))
def test_any_text_is_taken(agent):
    for word in describe(agent):
        assert word is None or 0 < len(word) <= 40
