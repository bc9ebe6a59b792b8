"""Reads text through its disguise: look-alike letters, digits for letters, letters set apart, words backwards, base64.

`plain_letters` gives the words that a reader makes out. `skeleton` goes further and lets letters that are written for
one another fall together, so that it is good for comparing and for nothing else. `disguises` says in which ways a text
is written so that a search for its words would miss them. The look-alikes are a part of Unicode's confusables.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache

from reasoningbank.core.patterns import pattern
from reasoningbank.core.stopwords import STOP_WORDS
from reasoningbank.guard.hidden import visible
from reasoningbank.guard.joining_words import FOREIGN_JOINING_WORDS

_LOOK_ALIKES = {
    "a": "аαɑａ@ạąàáâãäåā", "b": "ЬвƄｂ", "c": "сϲᴄｃ¢ςçć", "d": "ԁɗｄđ", "e": "еҽєｅ℮ėęèéêë", "f": "ſƒｆғ",
    "g": "ɡցｇğ", "h": "һհｈнħ", "i": "іıɩιíìîïｉ¡ӏ", "j": "јϳｊ", "k": "κкｋķ", "l": "ⅼʟｌłļ", "m": "мⅿｍ",
    "n": "ոпռｎñńη", "o": "оοօσᴏｏöóòôõøө", "p": "рρｐ", "q": "ԛգｑ", "r": "гᴦｒř", "s": "ѕꜱｓ$śšş", "t": "тτｔţť",
    "u": "υսᴜｕüúùû", "v": "ѵνⅴｖ", "w": "ԝѡաｗω", "x": "хⅹｘχ", "y": "уүγｙýÿ", "z": "ᴢｚžżź",
}  # fmt: skip
_LETTERS = {ord(other): letter for letter, signs in _LOOK_ALIKES.items() for other in signs} | {
    ord(other.upper()): letter
    for letter, signs in _LOOK_ALIKES.items()
    for other in signs
    if len(other.upper()) == 1 and not other.isascii()
}
_CAPITALS = {
    ord(capital): latin
    for capital, latin in zip("АВЕКМНОРСТХУІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "abekmhopctxyijsabezhikmnoptyx", strict=True)
}
_FOLDED: dict[int, str | int] = {**_LETTERS, **_CAPITALS}
_LEET = str.maketrans("0134578@$!|+", "oieastbasilt")
_SAME = str.maketrans("l105347869z2", "iioseatbggss")
_EVERYDAY = STOP_WORDS | FOREIGN_JOINING_WORDS | frozenset({
    "den", "dem", "immer", "nicht", "chaque", "que", "il", "lo", "gli", "con", "per", "prima", "ogni", "o",
    "os", "dos", "para", "all", "every", "before", "after", "always", "never", "must", "should", "when", "then", "into",
    "your", "ignore", "previous", "instructions", "agents", "command", "file", "task", "run", "use", "send",
})  # fmt: skip
"""Words that a text of any length has: forwards it is plain by them, and only backwards it is turned around."""
_WORD = pattern(r"[^\W_]+")
_LEET_WORD = pattern(
    r"(?<![\w@$!|+-])(?=[\w@$!|+]*[A-Za-z])(?=[\w@$!|+]*[0-9@$!|+][A-Za-z@$!|+]|[A-Za-z]+[013457@$]+\b)"
    r"[A-Za-z0-9@$!|+]{3,24}(?![\w@$-])"
)
_SET_APART = pattern(r"(?<![^\W_])(?:[^\W\d_][ \t.\-_*·|/,]{1,2}){5,}[^\W\d_](?![^\W_])")
_SIGN_IN_WORD = pattern(r"[A-Za-z][0-9@$!|+]|[0-9@$!|+][A-Za-z]")
_KINDS = bytes(
    97 if chr(code).isalpha() else 48 if chr(code) in "0123456789@$!|+" else 32 for code in range(128)
) + bytes(128)
"""From ASCII to "a" for letters and "0" for what is written for letters."""
_BLOB = pattern(r"(?<![\w+/])[A-Za-z0-9+/]{24,}={0,2}(?![\w+/])")
FEWEST_IN_A_BLOB = 24
FEWEST_IN_A_ROW = 5
MOST_CHARS = 200_000
MOST_CHARS_OF_A_LINE = 2_000
FEWEST_TURNED = 5
FEWEST_LOOK_ALIKES = 3
FEWEST_LEET_WORDS = 5
SHARE_OF_WORDS = 0.25
FEWEST_APART = 12
"""Letters in a row with something between each two: a list of columns has fewer."""


def fold_look_alikes(text: str) -> str:
    """With look-alikes made the letters that they are taken for. Writing in one other alphabet stays what it is."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKC", visible(text, markup=False))
    if plain.isascii():
        return plain
    return _WORD.sub(_latin_if_mixed, plain) if not _is_all_foreign(plain) else plain.translate(_FOLDED)


def _is_all_foreign(text: str) -> bool:
    """True if letters that all look Latin are none: a whole word, or text, in look-alikes only."""
    letters = [letter for letter in text if letter.isalpha() and not letter.isascii()]
    return bool(letters) and all(ord(letter) in _FOLDED for letter in letters)


def _latin_if_mixed(match: re.Match[str]) -> str:
    word = match[0]
    if word.isascii() or not any(letter.isascii() for letter in word):
        return word
    return word.translate(_FOLDED)


def plain_letters(text: str) -> str:
    """The words that a reader makes out of a text, with what is decoded from it at the end."""
    return _read(text[:MOST_CHARS])[0]


def disguises(text: str) -> Mapping[str, int]:
    """How often each way of disguise occurs, where it is too much for chance; empty for nearly every text."""
    return _read(text[:MOST_CHARS])[1]


# Whoever compares a text also asks how it is written.
@lru_cache(maxsize=16)
def _read(text: str) -> tuple[str, Mapping[str, int]]:
    ways: dict[str, int] = {}
    plain = text
    if not text.isascii():
        plain = fold_look_alikes(text)
        whole = _is_all_foreign(text)
        alike = sum(_is_look_alike(word, whole=whole) for word in _WORD.findall(text))
        if alike >= FEWEST_LOOK_ALIKES:
            ways["look-alike letters"] = alike
    lengths = list(map(len, plain.split()))
    longest = max(lengths, default=0)
    if lengths.count(1) > FEWEST_IN_A_ROW or longest > 2 * FEWEST_IN_A_ROW:
        runs = [match[0] for match in _SET_APART.finditer(plain)]
        if runs:
            plain = _SET_APART.sub(lambda match: _letters_of(match[0]), plain)
            if (apart := sum(map(len, map(_letters_of, runs)))) >= FEWEST_APART:
                ways["letters set apart"] = apart
    if _has_sign_in_word(plain):
        leet = sum(map(_is_leet, _LEET_WORD.findall(plain)))
        plain = _LEET_WORD.sub(lambda match: match[0].translate(_LEET), plain)
        if leet >= FEWEST_LEET_WORDS and leet >= SHARE_OF_WORDS * len(lengths):
            ways["digits for letters"] = leet
    blobs = _decode_base64(text) if longest >= FEWEST_IN_A_BLOB else []
    if blobs:
        ways["words in base64"] = len(blobs)
    reversals = _turn_back(plain)
    if reversals:
        ways["words turned around"] = len(reversals)
    return "\n".join((plain, *blobs, *reversals)), ways


def _has_sign_in_word(text: str) -> bool:
    if not text.isascii():
        return _SIGN_IN_WORD.search(text) is not None
    # As the pattern would find it, in a tenth of the time.
    kinds = text.encode("ascii").translate(_KINDS)
    return b"a0" in kinds or b"0a" in kinds


def _letters_of(run: str) -> str:
    return "".join(filter(str.isalpha, run))


def _decode_base64(text: str) -> list[str]:
    """Texts in base64, decoded, where they are words."""
    # Imported here: few texts have any.
    from base64 import b64decode

    texts = []
    for match in _BLOB.finditer(text):
        blob = match[0].rstrip("=")
        try:
            content = b64decode(blob + "=" * (-len(blob) % 4)).decode("utf-8")
        except ValueError:
            continue
        letters = sum(map(str.isalpha, content))
        if len(content.split()) >= 3 and content.isprintable() and letters >= 0.6 * len(content):
            texts.append(content)
    return texts


def _turn_back(text: str) -> list[str]:
    """The lines of it that have everyday words only backwards, or by the half alphabet."""
    lines = []
    for line in text.splitlines():
        words = line[:MOST_CHARS_OF_A_LINE].casefold().split()
        if len(words) >= FEWEST_TURNED and len(_EVERYDAY.intersection(words)) * 8 < min(len(words), 32):
            lines += [
                way for way in (line[::-1], line.translate(_half_alphabet())) if _has_everyday_words(way, len(words))
            ]
    return lines


def _has_everyday_words(line: str, count: int) -> bool:
    everyday = _EVERYDAY.intersection(word.casefold() for word in _WORD.findall(line[-MOST_CHARS_OF_A_LINE:]))
    long = sum(len(word) > 2 for word in everyday)
    return long >= 2 and len(everyday) * 8 >= min(count, 24)


@cache
def _half_alphabet() -> dict[int, int]:
    small = "abcdefghijklmnopqrstuvwxyz"
    rotation = small[13:] + small[:13]
    return str.maketrans(small + small.upper(), rotation + rotation.upper())


def skeleton(plain: str) -> str:
    """Plain letters with those made the same that are written for one another; for comparing only."""
    return plain.casefold().translate(_SAME)


def is_disguised(text: str) -> bool:
    """True if any of it is written so that a search for its words would miss them: for text that is to be plain."""
    return _SET_APART.search(text) is not None or bool(disguises(text))


def _is_leet(word: str) -> bool:
    """A word in which digits stand among letters as letters do, and not one such as `utf8`, `x86_64` or `sha256`."""
    letters = word.strip("0123456789")
    return any(sign in letters[1:-1] for sign in "013457@$!") or ("0" in letters[:-1] or "3" in letters[:-1])


def _is_look_alike(word: str, *, whole: bool) -> bool:
    """Latin letters with others that are taken for them; `whole` is a text with no letter that could not be."""
    if word.isascii() or len(word) < 3:
        return False
    fakes = sum(map(_is_fake, word))
    latin = any(letter.isascii() and letter.isalpha() for letter in word)
    return fakes * 4 >= len(word) and (latin or (whole and fakes == len(word)))


def _is_fake(letter: str) -> bool:
    if letter.isascii():
        return False
    name = unicodedata.name(letter, "")
    return name.startswith("MATHEMATICAL") or (ord(letter) in _FOLDED and "LATIN" not in name)
