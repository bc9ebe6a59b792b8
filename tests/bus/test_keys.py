"""The key of a node is its owner's alone; whatever else lies in its place is refused with a sentence that helps."""

from __future__ import annotations

import os
import pickle
import threading
from pathlib import Path

import pytest

from reasoningbank.core.errors import BankError, Conflict, InvalidInput, NotFound, Refused
from reasoningbank.core.origins import is_by_fingerprint
from reasoningbank_bus.authority.keys import KeyFile, fingerprint, parse_public, public_text
from reasoningbank_bus.exchange.naming import origin_of_author
from reasoningbank_bus.wire.signing import SigningKey, is_signed

POSIX_ONLY = pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")


@POSIX_ONLY
def test_a_key_is_made_for_its_owner_alone_whatever_the_mask_and_is_read_again(tmp_path: Path):
    before = os.umask(0)
    try:
        key = KeyFile(tmp_path / "bus").create()
    finally:
        os.umask(before)
    assert (tmp_path / "bus").stat().st_mode & 0o777 == 0o700
    assert [(p.name, p.stat().st_mode & 0o777) for p in (tmp_path / "bus").iterdir()] == [("key", 0o600)]
    assert KeyFile(tmp_path / "bus").read().public == key.public


def test_a_key_that_is_there_is_never_replaced(tmp_path: Path):
    kept = KeyFile(tmp_path).create().public
    with pytest.raises(Conflict, match="already"):
        KeyFile(tmp_path).create()
    assert KeyFile(tmp_path).read().public == kept


def test_of_many_that_make_a_key_at_once_one_succeeds_and_all_read_the_same(tmp_path: Path):
    made: list[bytes] = []
    refused: list[Conflict] = []
    together = threading.Barrier(8)

    def make() -> None:
        together.wait(300)
        try:
            made.append(KeyFile(tmp_path).create().public)
        except Conflict as error:
            refused.append(error)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (len(made), len(refused)) == (1, 7)
    assert KeyFile(tmp_path).read().public == made[0]
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


@POSIX_ONLY
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610, 0o777])
def test_a_key_that_others_can_use_is_refused_with_the_remedy(tmp_path: Path, mode: int):
    KeyFile(tmp_path).create()
    (tmp_path / "key").chmod(mode)
    with pytest.raises(Refused, match="chmod 600"):
        KeyFile(tmp_path).read()


def test_without_a_key_the_command_that_makes_one_is_named(tmp_path: Path):
    with pytest.raises(NotFound, match="reasoningbank bus init"):
        KeyFile(tmp_path).read()


@pytest.mark.parametrize(
    ("contents", "told"),
    [
        (b"-----BEGIN OPENSSH PRIVATE KEY-----\nSECRETSECRET\n", "OpenSSH"),
        (b"-----BEGIN RSA PRIVATE KEY-----\nSECRETSECRET\n", "RSA"),
        (b"-----BEGIN EC PRIVATE KEY-----\nSECRETSECRET\n", "another curve"),
        (b"-----BEGIN PRIVATE KEY-----\nSECRETSECRET\n", "another format"),
        (b"-----BEGIN CERTIFICATE-----\nSECRETSECRET\n", "certificate"),
        (b"ssh-ed25519 SECRETSECRET me@here\n", "public half"),
        (b"S" * 32, "without a word"),
        (b"", "something else"),
        (bytes(10_000_000), "something else"),
        (b"reasoningbank bus key 2 (post-quantum)\nSECRET\n", "does not know"),
        (b"reasoningbank bus key 1 (ed25519, pri", "cut short.*bus init --anew"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_another_kind_of_file_is_named_and_nothing_of_it_is_shown(tmp_path: Path, contents: bytes, told: str):
    path = tmp_path / "key"
    path.write_bytes(contents)
    path.chmod(0o600)
    with pytest.raises(InvalidInput, match=told) as error:
        KeyFile(tmp_path).read()
    assert "SECRET" not in str(error.value)


def test_a_key_cut_anywhere_or_with_any_letter_changed_is_refused_and_not_shown(tmp_path: Path):
    KeyFile(tmp_path).create()
    path = tmp_path / "key"
    whole = path.read_bytes()
    seed = whole.split(b"\n")[1].decode()
    # The last line break may be missing: everything else is there.
    damaged = [whole[:length] for length in range(0, len(whole) - 1, 7)]
    for at in range(len(whole.split(b"\n")[0]) + 1, len(whole) - 1, 5):
        other = b"A" if whole[at : at + 1] != b"A" else b"B"
        damaged.append(whole[:at] + other + whole[at + 1 :])
    for contents in damaged:
        path.write_bytes(contents)
        with pytest.raises(BankError) as error:
            KeyFile(tmp_path).read()
        assert seed not in str(error.value)
    path.write_bytes(whole)
    assert KeyFile(tmp_path).read()


@POSIX_ONLY
def test_a_folder_or_a_pipe_in_place_of_a_key_is_refused_at_once(tmp_path: Path):
    (tmp_path / "key").mkdir()
    with pytest.raises(Refused):
        KeyFile(tmp_path).read()
    (tmp_path / "key").rmdir()
    os.mkfifo(tmp_path / "key", 0o600)
    with pytest.raises(Refused, match="not a file"):
        KeyFile(tmp_path).read()


def test_a_private_key_is_shown_nowhere():
    key = SigningKey(b"S" * 32)
    assert key.seed.hex() not in repr(key)
    assert repr(key.seed) not in repr(key)
    with pytest.raises(TypeError):
        pickle.dumps(key)


def test_a_public_key_is_pasted_as_one_word_and_told_apart_by_its_fingerprint():
    one, other = SigningKey(bytes(32)).public, SigningKey(bytes([1]) * 32).public
    assert parse_public(f" {public_text(one)}\n") == one
    assert fingerprint(one) != fingerprint(other)
    assert len(fingerprint(one)) == len("rb1-xxxx-xxxx-xxxx-xxxx")
    for wrong in ("", "rbk1", public_text(one)[:-1], public_text(one) + "A", public_text(one)[4:], "rbk1" + "ä" * 43):
        with pytest.raises(InvalidInput, match="bus id"):
            parse_public(wrong)


def test_an_origin_that_a_key_gives_is_known_for_a_name_and_never_read_as_a_text():
    origin = origin_of_author(SigningKey(bytes(32)).public)
    assert is_by_fingerprint(origin)
    for other in (origin[:-1], f"{origin}a", origin.upper(), f"tool{origin[4:]}"):
        assert not is_by_fingerprint(other)


def test_a_signature_holds_for_its_bytes_and_its_key_alone():
    key = SigningKey(bytes(32))
    signature = key.sign(b"message")
    assert is_signed(b"message", signature, key.public)
    assert not is_signed(b"massage", signature, key.public)
    assert not is_signed(b"message", signature, SigningKey(bytes([1]) * 32).public)
    assert not is_signed(b"message", signature[:-1], key.public)
    assert not is_signed(b"message", signature, key.public[:-1])
    assert not is_signed(b"message", b"", b"")
    # A point of small order, for which one signature holds for many messages.
    assert not is_signed(b"message", bytes(64), bytes([1]) + bytes(31))
