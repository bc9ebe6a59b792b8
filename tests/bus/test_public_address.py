"""Where a node is, as others are told: an address that they can use, or none."""

from __future__ import annotations

import socket

import pytest

from reasoningbank.core.errors import InvalidInput
from reasoningbank_bus.addresses import parse_address, public_address
from tests.bus.laptops import Laptop, befriend, until

pytest.importorskip("qh3")


@pytest.mark.parametrize(
    ("listen", "public", "told"),
    [
        (None, None, ""),
        ("192.168.1.20:8711", None, "192.168.1.20:8711"),
        ("0.0.0.0:8711", None, ""),
        ("[::]:8711", None, ""),
        ("192.168.1.20:0", None, ""),
        ("0.0.0.0:8712", "anna.example", "anna.example:8712"),
        ("0.0.0.0:8712", "anna.example:443", "anna.example:443"),
        ("[::]:8712", "2001:db8::1", "[2001:db8::1]:8712"),
    ],
)
def test_others_are_told_what_is_said_or_where_it_listens_and_never_every_address(listen, public, told):
    assert public_address(None if listen is None else parse_address(listen, listening=True), public) == told


@pytest.mark.parametrize(
    ("listen", "public"), [(None, "anna.example:8711"), ("0.0.0.0:8711", "0.0.0.0:8711"), ("0.0.0.0:0", "anna.example")]
)
def test_a_public_address_that_nobody_could_use_is_refused(listen, public):
    where = None if listen is None else parse_address(listen, listening=True)
    with pytest.raises(InvalidInput):
        public_address(where, public)


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.mark.parametrize("says", [True, False], ids=["with a public address", "without one"])
def test_who_listens_everywhere_is_dialled_by_others_only_where_it_says_that_it_is(tmp_path, says):
    with (
        Laptop(tmp_path / "office.db") as office,
        Laptop(tmp_path / "anna.db") as anna,
        Laptop(tmp_path / "ben.db") as ben,
    ):
        for one in (anna, ben):
            befriend(office, one)
            one.bus.trust(office.key)
        befriend(anna, ben)
        port = free_port()
        public = f"localhost:{port}" if says else None
        with office.up("127.0.0.1:0") as running:
            for one in (anna, ben):
                one.bus.add_peer(running.listen, office.key, name="office")
            with anna.up(f"0.0.0.0:{port}", public), ben.up():
                anna.learn("of anna")
                until(lambda: ben.titles() == {"of anna"}, "what anna learned")
                assert until(lambda: anna.bus.status().is_up and anna.bus.status(), "word of it").public == (
                    public or ""
                )

                def seen() -> tuple[str, str]:
                    [peer] = [peer for peer in ben.bus.status().peers if peer.fingerprint == anna.bus.fingerprint]
                    return peer.state, peer.address

                wanted = ("connected", public) if says else ("away", "")
                until(lambda: seen() == wanted, f"{wanted} at ben's, not {seen()}")
