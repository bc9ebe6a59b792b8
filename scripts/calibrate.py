"""Fit `src/reasoningbank/recall/calibration.json` to labelled sets: python scripts/calibrate.py --data DIR [--write].

Asks half of the questions of every set that is found under DIR, fits bias and scale for each embedder, and shows on the
other half what was promised and what came true. Without --write nothing is changed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from reasoningbank.evaluate.asking import asked, bank_in, plain_words
from reasoningbank.evaluate.calibrating import calibrated
from reasoningbank.evaluate.reliability import Reliability
from reasoningbank.evaluate.sets import sampled
from reasoningbank.evaluate.shapes import recognised
from reasoningbank.recall import relevance

FILE = Path(relevance.__file__).with_name("calibration.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embedders", default="hash,local")
    parser.add_argument("--questions", type=int, default=800, help="of each set, half of them to fit on")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    table = json.loads(FILE.read_text("utf-8"))
    sets = [sampled(found, options.questions, options.seed) for found in recognised(options.data).sets]
    for embedder in options.embedders.split(","):
        with tempfile.TemporaryDirectory() as folder:
            trials = []
            for number, labelled in enumerate(sets):
                place = Path(folder) / str(number)
                place.mkdir()
                with bank_in(place, embedder) as bank:
                    trials.append(asked(bank, labelled, plain_words(labelled), lambda _done, _total: None))
        result = calibrated(trials, embedder, relevance.calibration_for(embedder))
        print(f"{embedder}: bias {result.calibration.bias}, scale {result.calibration.scale}")
        show("  before", result.before)
        show("  after ", result.after)
        table["embedders"][embedder] = asdict(result.calibration)
        if embedder == "local":
            table["embedders"]["other"] = asdict(result.calibration)
    if options.write:
        FILE.write_text(json.dumps(table, indent=2) + "\n", "utf-8")


def show(name: str, found: Reliability) -> None:
    bins = "  ".join(f"{b.relevance:.2f}→{b.right:.2f}" for b in found.bins)
    print(f"{name} {bins}   error {found.error:.3f}")


if __name__ == "__main__":
    main()
