"""Damage the bank's file and the files of its index: flipped bits, zeroed blocks, cut files, exchanged files.

Each round takes a whole bank, damages one place of the index or of the bank, and holds it to its promises. What
`verify` says nothing about must change no answer. The index is then mended and must be as good as new; a damaged bank
is put back whole.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from bench.storms._weather import Promise, Weather
from reasoningbank.core.errors import BankError
from reasoningbank.core.types import Remembered
from reasoningbank.index.header import read_header
from reasoningbank.index.rows import BLOCK_BYTES, BLOCK_ROWS, COLUMNS, STARTS
from reasoningbank.wiring import ReasoningBank

SLICE = 8
"""Rounds in the test command."""
FEW, MANY = 120, 4_600
"""Memories in the banks. Beyond 4,096 the words are sealed into files of their own; the test command does without."""
MOST_LISTED = 1_000
ZEROED = (16, 512, 4096)
ASKED = ("harbour crane", "retry the upload with a token", "a word that nobody wrote", "storm wind")


@dataclass(slots=True)
class Whole:
    """The bank before the damage, and everything that it answers."""

    folder: Path
    contents: dict[str, str]
    answers: dict[str, list[tuple[str, float, int]]]


def storm(weather: Weather) -> list[Promise]:
    unseen = Promise("verify names damage to the index, or it changes no answer")
    served = Promise("no search raises on a damaged index, and none shows what the records do not say")
    mended = Promise("a mended index finds every memory, and verify is content")
    records = Promise("a damaged bank serves no wrong content: it says so, or verify does, or nothing was lost")
    # A small bank is damaged far more often than a large one within the same time, and more of it matters.
    sizes = (FEW,) if weather.most is not None else (FEW, FEW, FEW, MANY)
    wholes = {size: _made(weather, size) for size in sorted(set(sizes))}
    for number in weather.rounds():
        whole = wholes[sizes[number // 2 % len(sizes)]]
        if number % 2 == 1:
            _damage_bank(weather, whole, records)
        else:
            _damage_index(weather, whole, (unseen, served, mended), is_verified=number % 4 == 0)
    return [unseen, served, mended, records]


def _open(folder: Path) -> ReasoningBank:
    return ReasoningBank.open(folder / "bank.db", embedder="hash", dimension=64, namespace="storm")


def _made(weather: Weather, size: int) -> Whole:
    folder = weather.folder / f"whole-{size}"
    folder.mkdir()
    words = [*ASKED[0].split(), "upload", "token", "cache", "schema", "queue", "lock", "thread", *ASKED[3].split()]
    with _open(folder) as bank:
        kept = bank.record_many(
            {
                "title": f"storm {n}",
                "content": f"mark{n} {' '.join(weather.chance.choices(words, k=12))}",
                "tags": [weather.chance.choice(("go", "py"))],
            }
            for n in range(size)
        )
        for each in kept[:20]:
            bank.feedback(each, helpful=weather.chance.random() < 0.7)
        bank.catch_up()
        for each in kept[20:40]:
            bank.edit(each, content=f"{bank.get(each).content} storm wind")
        for number in range(5):
            session = bank.start_session(f"lift part {number} with the harbour crane")
            bank.end_session(session.id, "success", distil=False)
        bank.erase(kept[50])
        bank.catch_up()
        contents = {each.id: each.content for each in _listed(bank)}
        answers = {text: _asked(bank, text) for text in ASKED}
        assert bank.verify() == []
    return Whole(folder, contents, answers)


def _listed(bank: ReasoningBank) -> list[Remembered]:
    found: list[Remembered] = []
    before: str | None = None
    while page := bank.list(limit=1000, before=before):
        found += page
        before = page[-1].id
    return found


def _asked(bank: ReasoningBank, text: str) -> list[tuple[str, float, int]]:
    found = bank.search(text, floor=0.0, min_confidence=0.0, limit=8)
    return [(hit.id, round(hit.confidence.mean, 3), hit.usage_count) for hit in found.memories]


def _copied(weather: Weather, whole: Whole) -> Path:
    folder = weather.folder / "hurt"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole.folder, folder)
    return folder


# ---------------------------------------------------------------- the index


def _damage_index(
    weather: Weather, whole: Whole, promises: tuple[Promise, Promise, Promise], *, is_verified: bool
) -> None:
    unseen, served, mended = promises
    folder = _copied(weather, whole)
    files = sorted(path for path in Path(f"{folder / 'bank.db'}.index").rglob("*") if path.is_file())
    told = _damage(weather, weather.chance.choice(files), files)
    with _open(folder) as bank:
        try:
            named = bank.verify() if is_verified else None
            answers = {text: _asked(bank, text) for text in ASKED}
            for hit in bank.search("storm", floor=0.0, limit=50).memories:
                served.check(whole.contents.get(hit.id) == hit.content, f"{told}: {hit.id} says something else")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
            served.violated(f"{told}: {type(error).__name__}: {error}")
            return
        unseen.held(bool(named))
        for text, answer in answers.items():
            if named == []:
                unseen.check(answer == whole.answers[text], f"{told}: unseen, and {text!r} is answered otherwise")
            wrong = _wrong(whole, text, answer)
            served.check(not wrong, f"{told}: other evidence of {wrong[:3]}")
        _check_mended(bank, whole, told, mended)


def _wrong(whole: Whole, text: str, answer: list[tuple[str, float, int]]) -> list[str]:
    """Of what is shown, the ids whose evidence is another than before the damage."""
    before = {i: rest for i, *rest in whole.answers[text]}
    return [i for i, *rest in answer if before.get(i, rest) != rest]


def _check_mended(bank: ReasoningBank, whole: Whole, told: str, mended: Promise) -> None:
    bank.mend_index()
    if not bank.catch_up(budget_s=60.0):
        mended.violated(f"{told}: the index does not catch up")
    mended.check(bank.verify() == [], f"{told}: still damaged after mending: {bank.verify()[:3]}")
    if len(whole.contents) <= MOST_LISTED:
        found = {hit.id for hit in bank.search("storm", floor=0.0, min_confidence=0.0, limit=MOST_LISTED).memories}
        lacking = whole.contents.keys() - found
        mended.check(not lacking, f"{told}: {sorted(lacking)[:3]} are not found after mending")
    for text in ASKED:
        wrong = _wrong(whole, text, _asked(bank, text))
        mended.check(not wrong, f"{told}: other evidence of {wrong[:3]} after mending")
    for content in list(whole.contents.values())[:: max(1, len(whole.contents) // 10)]:
        hits = bank.search(content.split()[0], floor=0.0, limit=3).memories
        mended.check(content in [hit.content for hit in hits], f"{told}: {content.split()[0]} is not found")


def _damage(weather: Weather, victim: Path, files: list[Path]) -> str:
    """Something done to a file, in words."""
    chance = weather.chance
    size = victim.stat().st_size
    deed = chance.random()
    if size == 0 or deed > 0.94:
        other = chance.choice(files)
        one, two = victim.read_bytes(), other.read_bytes()
        victim.write_bytes(two)
        other.write_bytes(one)
        return f"{victim.name} and {other.name} exchanged"
    if deed > 0.86:
        with victim.open("rb+") as file:
            file.truncate(left := chance.randrange(size))
        return f"{victim.name} cut to {left:,} of {size:,} bytes"
    at = _place(weather, victim, size)
    raw = bytearray(victim.read_bytes())
    if deed > 0.76:
        length = chance.choice(ZEROED)
        raw[at : at + length] = bytes(len(raw[at : at + length]))
        victim.write_bytes(raw)
        return f"{length} bytes of {victim.name} from {at:,} on zeroed"
    raw[at] ^= 1 << (bit := chance.randrange(8))
    victim.write_bytes(raw)
    return f"bit {bit} of byte {at:,} of {victim.name} flipped"


def _place(weather: Weather, victim: Path, size: int) -> int:
    """Mostly where something is: the columns are sparse, and most of their file holds nothing yet."""
    chance = weather.chance
    header_file = victim.parent / "header"
    if victim.name != "rows" or chance.random() < 0.1 or not header_file.exists():
        return chance.randrange(size)
    slot = chance.randrange(max(1, read_header(header_file).rows))
    name = chance.choice(list(COLUMNS))
    block, local = divmod(slot, BLOCK_ROWS)
    width = COLUMNS[name].itemsize
    return min(size - 1, block * BLOCK_BYTES + STARTS[name] + local * width + chance.randrange(width))


# ---------------------------------------------------------------- the bank


def _damage_bank(weather: Weather, whole: Whole, records: Promise) -> None:
    folder = _copied(weather, whole)
    victim = folder / "bank.db"
    raw = bytearray(victim.read_bytes())
    at = weather.chance.randrange(len(raw))
    if weather.chance.random() < 0.8:
        raw[at] ^= 1 << weather.chance.randrange(8)
    else:
        length = weather.chance.choice(ZEROED)
        raw[at : at + length] = bytes(len(raw[at : at + length]))
    victim.write_bytes(raw)
    told = f"byte {at:,} of bank.db"
    try:
        with _open(folder) as bank:
            damage = bank.verify()
            shown = {each.id: each.content for each in _listed(bank)} if not damage else {}
            hits = bank.search("storm", floor=0.0, limit=50).memories
    except BankError:
        records.held()
        return
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
        records.violated(f"{told}: {type(error).__name__}: {error}")
        return
    wrong = [hit.id for hit in hits if whole.contents.get(hit.id) != hit.content]
    records.check(not wrong, f"{told}: {wrong[:3]} say something else")
    records.check(bool(damage) or shown == whole.contents, f"{told}: unseen by verify, and something is lost")
