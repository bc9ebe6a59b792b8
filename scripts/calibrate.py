"""Fit `src/reasoningbank/recall/calibration.json` to labelled sets: python scripts/calibrate.py --data DIR [--write].

Puts questions with and without an answer to banks of several sizes, made of every set that is found under DIR, and fits
for each embedder what a relevance means and from where on a memory is shown. Each set is predicted by the others, and
the error of that is printed. Without --write nothing is changed. Needs the evaluation: pip install -e ./evaluation.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from reasoningbank_eval.asking import bank_in
from reasoningbank_eval.calibrating import calibrate
from reasoningbank_eval.crowds import ask_crowds, plan_crowds
from reasoningbank_eval.sets import sampled
from reasoningbank_eval.shapes import recognised
from reasoningbank_eval.subjects import find_likeness

from reasoningbank.recall import relevance

FILE = Path(relevance.__file__).with_name("calibration.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embedders", default="hash,local")
    parser.add_argument("--questions", type=int, default=400, help="of each set, at most")
    parser.add_argument("--sizes", default="3,10,40,200,1000")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    table = json.loads(FILE.read_text("utf-8"))
    sets = [sampled(found, options.questions, options.seed) for found in recognised(options.data).sets]
    sizes = sorted(map(int, options.sizes.split(",")))
    plans = list(plan_crowds(sets, find_likeness(sets), sizes, options.seed))
    for embedder in options.embedders.split(","):
        crowds = []
        with tempfile.TemporaryDirectory() as folder:
            for number, plan in enumerate(plans):
                place = Path(folder) / str(number)
                place.mkdir()
                with bank_in(place, embedder) as bank:
                    crowds += ask_crowds(bank, plan, options.seed, lambda _done, _total: None)
        result = calibrate(crowds, relevance.calibration_for(embedder))
        made = result.calibration
        print(f"{embedder}: bias {made.bias}, scale {made.scale}, crowd {made.crowd}, ", end="")
        print(f"floor {made.floor} + {made.floor_per_log} ln memories; ", end="")
        print(f"calibration error on sets not fitted on {result.before:.3f} → {result.after:.3f}")
        table["embedders"][embedder] = asdict(made)
        if embedder == "local":
            table["embedders"]["other"] = asdict(made)
    if options.write:
        FILE.write_text(json.dumps(table, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
