"""Build src/reasoningbank/index/ordinary_words.bin: the stems that an everyday text may hold by chance.

    python scripts/build_ordinary_words.py [--check]

The words are the first of the shipped model's vocabulary, which its makers ordered by how often they occur. A word of a
question that is none of these, and that few memories hold, was meant (`index/rare_words.py`).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from reasoningbank.embed.minilm import MODEL_FOLDER
from reasoningbank.embed.wordpiece import read_vocabulary
from reasoningbank.index import rare_words
from reasoningbank.index.hashing import term_keys

WORDS = 12_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only say whether the file is up to date")
    options = parser.parse_args()
    made = make_table()
    if options.check:
        return 0 if rare_words.FILE.read_bytes() == made else 1
    Path(rare_words.FILE).write_bytes(made)
    print(f"{len(made) // 4:,} stems, {len(made):,} bytes")
    return 0


def make_table() -> bytes:
    """The keys of the stems in order, four bytes each, little-endian."""
    vocabulary = read_vocabulary(MODEL_FOLDER / "vocab.txt")
    in_order = sorted(vocabulary, key=vocabulary.__getitem__)
    words = [word for word in in_order if word.isascii() and word.isalpha() and len(word) > 1][:WORDS]
    return np.unique(np.array(term_keys(words), "<u4")).tobytes()


if __name__ == "__main__":
    raise SystemExit(main())
