"""How many requests to other servers are under way at a time."""

import threading
import time

import pytest

from authsite.platform.http import outbound
from authsite.platform.http.outbound_slots import OutboundSlots
from tests.support.outbound import send, unreachable
from tests.support.tiny_server import Held, tiny_server


def test_each_provider_has_two_slots_and_all_together_a_quarter_of_the_threads(site):
    slots = OutboundSlots()

    def fits(name):
        try:
            with slots.taken(name):
                return True
        except outbound.NoSlot:
            return False

    with slots.taken("one"), slots.taken("one"):
        assert not fits("one")
        assert fits("two")
        assert fits(outbound.UNTRUSTED)
        with slots.taken("two"), slots.taken("three"):
            assert not fits("two")
            assert not fits("four")
            with slots.taken(outbound.UNTRUSTED), slots.taken(outbound.UNTRUSTED):
                assert not fits(outbound.UNTRUSTED)
    assert fits("one")
    assert fits("four")


def test_a_third_request_to_a_provider_is_refused_at_once_and_slots_come_back(site):
    held = Held(lambda _: (200, {}, b"long"))
    with tiny_server(held) as server:
        threads = [threading.Thread(target=send, args=(site, server.url)) for _ in range(2)]
        for each in threads:
            each.start()
        while server.connections < 2:
            time.sleep(0.01)
        began = time.monotonic()
        with pytest.raises(outbound.NoSlot) as refused:
            send(site, server.url)
        assert time.monotonic() - began < 1
        assert (refused.value.status, refused.value.code) == (503, "temporarily_unavailable")
        held.release()
        for each in threads:
            each.join()
        assert send(site, server.url).status == 200
        for _ in range(3):
            assert unreachable(site, f"{server.url}/", limit=1)
        assert send(site, server.url).status == 200
