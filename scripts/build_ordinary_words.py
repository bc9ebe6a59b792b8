"""Build src/reasoningbank/lexical/ordinary_words.bin: the stems that an everyday text may hold by chance.

    python scripts/build_ordinary_words.py [--check]

The words are the first of the shipped model's vocabulary, which its makers ordered by how often they occur. A word of a
question that is none of these, and that few memories hold, was meant (`lexical/rare_words.py`).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from reasoningbank.embed.minilm import MODEL_FOLDER
from reasoningbank.embed.wordpiece import read_vocabulary
from reasoningbank.lexical import rare_words
from reasoningbank.lexical.hashing import term_keys

WORDS = 12_000
OF_THE_TRADE = """
api apis app apps args async auth autocomplete backend backends backup boolean browser bugfix build builds cache
cached caches caching callback callbacks changelog checkout chunk cli cloud codebase codec config configs
configuration css csv dashboard database databases dataset datasets debug debugger debugging decode delete deploy
deployed deploying deployment deployments desktop dev devs diff disk docs download downloads email emails encode
encoder endpoint endpoints env exception exceptions export file filename filenames files filesystem folder folders
framework frontend frontends fullstack gui handler handlers hardcode hardcoded hash hostname hotfix html http https
implementation import imports init inline input install installer integration intranet json keyboard keyword localhost
lockfile log logging login logins logout logs lookup mapping markdown metadata middleware migration migrations mobile
module modules monorepo mutex namespace namespaces network offline online onboarding output override package packages
param parameter params parser parsing password passwords payload payloads performance permission permissions pipeline
pipelines plugin plugins popup postmortem prefix preview prod production profiler prompt proxy queue queues rate
readme reboot redirect redirects refactor refactoring refactors regex regexes release releases render rendering repo
repos repository request requests restart retries retry retrying rollback rollout routing runtime sandbox schema
schemas screenshot script scripts search server servers serverless session sessions setup shell signup snapshot
software sql stacktrace staging startup string strings stub subfolder subprocess suffix sync syntax sysadmin task
tasks template templates terminal test testing tests thread threads throughput timeout timeouts timestamp timestamps
token tokens toolchain tooling traceback tutorial typo ui unittest unittests update upgrade upload uploads uptime url
urls user username usernames users ux validate validation validator variable variables version versions viewport
webhook webhooks webpage website websites whitespace widget widgets wiki workaround workarounds workflow workflows
workspace xml yaml
"""
"""Everyday words of programming, which the vocabulary has late or in pieces."""


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
    return np.unique(np.array(term_keys([*words, *OF_THE_TRADE.split()]), "<u4")).tobytes()


if __name__ == "__main__":
    raise SystemExit(main())
