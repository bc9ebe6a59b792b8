"""Fit `guard/suspicion.json`: python scripts/build_suspicion.py --data DIR.

DIR is the folder with `memory-poisoning` and other sets of ordinary texts. Fits on the training part only, chooses the
threshold by cross-validation, and prints what `python -m bench trust` measures on the rest.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.poison import ordinary_texts, poisoning
from reasoningbank.guard.injection_score import BUCKETS, FEATURES, MODEL, tells_of, windows, words_of

FOLDS = 5
FALSE_ALARMS = 0.003
"""Aimed at here, so that less than one in a hundred is left for texts that nobody has seen."""
L2_WORDS = 4e-4
L2_TELLS = 5e-4
RATE = 1.0
MOST_FOR_A_TELL = 4.0
COLUMNS = BUCKETS + len(FEATURES)


@dataclass(frozen=True)
class Windows:
    """Sparse rows: row `i` has the columns `column[start[i]:start[i + 1]]` with the values beside them."""

    column: np.ndarray
    value: np.ndarray
    row: np.ndarray
    owner: np.ndarray
    """Which text a row belongs to."""

    def times(self, w: np.ndarray) -> np.ndarray:
        return np.bincount(self.row, weights=w[self.column] * self.value, minlength=len(self.owner))

    def back(self, error: np.ndarray) -> np.ndarray:
        return np.bincount(self.column, weights=error[self.row] * self.value, minlength=COLUMNS)

    def of(self, chosen: np.ndarray) -> Windows:
        """The rows of the chosen texts alone."""
        rows = chosen[self.owner]
        cells = rows[self.row]
        numbers, texts = np.cumsum(rows) - 1, np.cumsum(chosen) - 1
        return Windows(self.column[cells], self.value[cells], numbers[self.row[cells]], texts[self.owner[rows]])


def windows_of(texts: list[str]) -> Windows:
    column, value, row, owner = [], [], [], []
    for number, text in enumerate(texts):
        for window in windows(text):
            buckets, found = sorted(words_of(window)), tells_of(window)
            column += [*buckets, *(BUCKETS + place for place in found)]
            value += [1.0 / np.sqrt(max(1, len(buckets)))] * len(buckets) + [1.0] * len(found)
            row += [len(owner)] * (len(buckets) + len(found))
            owner.append(number)
    return Windows(np.array(column, int), np.array(value), np.array(row, int), np.array(owner, int))


def fit(x: Windows, y: np.ndarray, weight: np.ndarray, steps: int = 400) -> tuple[np.ndarray, float]:
    """Logistic regression by accelerated gradient descent; a tell can only speak against a text."""
    ridge = np.concatenate([np.full(BUCKETS, L2_WORDS), np.full(len(FEATURES), L2_TELLS)])
    w, velocity, bias, bias_velocity = np.zeros(COLUMNS), np.zeros(COLUMNS), -2.0, 0.0
    scale = weight / weight.sum()
    for step in range(steps):
        momentum = step / (step + 3)
        at, at_bias = w + momentum * velocity, bias + momentum * bias_velocity
        error = scale * (1 / (1 + np.exp(-(x.times(at) + at_bias))) - y)
        moved = at - RATE * (x.back(error) + ridge * at)
        moved[BUCKETS:] = np.clip(moved[BUCKETS:], 0.0, MOST_FOR_A_TELL)
        moved_bias = at_bias - RATE * float(error.sum())
        velocity, bias_velocity = moved - w, moved_bias - bias
        w, bias = moved, moved_bias
    return w, bias


def scores(x: Windows, w: np.ndarray, bias: float) -> np.ndarray:
    best = np.full(x.owner.max() + 1, -np.inf)
    np.maximum.at(best, x.owner, x.times(w) + bias)
    return best


def rounded(w: np.ndarray) -> tuple[np.ndarray, float]:
    step = float(np.abs(w[:BUCKETS]).max() / 127) or 1.0
    return np.concatenate([np.round(w[:BUCKETS] / step) * step, w[BUCKETS:]]), step


def trained(x: Windows, labels: np.ndarray) -> tuple[np.ndarray, float]:
    y = labels[x.owner]
    # A text counts once however many windows it has, and both sides count alike but for a tilt to the clean.
    per_text = 1.0 / np.bincount(x.owner)[x.owner]
    balance = np.where(y == 1, 1.0 / per_text[y == 1].sum(), 2.0 / per_text[y == 0].sum())
    return fit(x, y.astype(float), per_text * balance)


def held_out_scores(x: Windows, labels: np.ndarray) -> np.ndarray:
    """What each text gets from a model that never saw it."""
    folds = np.random.default_rng(7).integers(0, FOLDS, len(labels))
    found = np.zeros(len(labels))
    for fold in range(FOLDS):
        seen = folds != fold
        found[~seen] = scores(x.of(~seen), *trained(x.of(seen), labels[seen]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    known = poisoning(data, "train")
    ordinary = [text for texts in ordinary_texts(data, part=0).values() for text in texts]
    labels = np.array([entry.poisoned for entry in known] + [False] * len(ordinary), int)
    attacks = np.array([entry.attack for entry in known] + ["none"] * len(ordinary))
    x = windows_of([entry.text for entry in known] + ordinary)
    unseen = held_out_scores(x, labels)
    is_memory = np.arange(len(labels)) < len(known)
    # No false alarm at all on clean memories that were not fitted on: there are too few of them to allow for some.
    clean = labels == 0
    threshold = max(
        float(np.quantile(unseen[clean & ~is_memory], 1 - FALSE_ALARMS)), float(unseen[clean & is_memory].max())
    )
    found, alarms = unseen[labels == 1] > threshold, unseen[labels == 0] > threshold
    print(f"cross-validated: recall {found.mean():.3f} at {alarms.mean():.4f} false alarms", flush=True)
    w, bias = trained(x, labels)
    w, step = rounded(w)
    model = {
        "about": "Fitted by scripts/build_suspicion.py; poisoned examples: memshield-bench, CC BY-SA 4.0",
        "buckets": BUCKETS,
        "bias": round(bias, 5),
        "step": step,
        "threshold": round(1 / (1 + float(np.exp(-threshold))), 5),
        "tells": [round(float(value), 4) for value in w[BUCKETS:]],
        "words": base64.b64encode(np.round(w[:BUCKETS] / step).astype(np.int8).tobytes()).decode("ascii"),
    }
    MODEL.write_text(json.dumps(model, indent=1) + "\n", "utf-8")
    for name, value in sorted(zip(FEATURES, w[BUCKETS:], strict=True), key=lambda pair: -pair[1]):
        print(f"  {name:18} {value:.2f}", flush=True)
    print("recall on a kind of attack that was not fitted on:")
    for attack in sorted(set(attacks) - {"none"}):
        others = attacks != attack
        caught = scores(x.of(~others), *trained(x.of(others), labels[others])) > threshold
        print(f"  {attack:28} {caught.mean():.3f} of {len(caught)}", flush=True)


if __name__ == "__main__":
    main()
