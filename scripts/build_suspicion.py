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
from reasoningbank.guard.suspicion import BUCKETS, FEATURES, MODEL, tells_of, windows, words_of

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


def trained(texts: list[str], labels: np.ndarray) -> tuple[np.ndarray, float]:
    x = windows_of(texts)
    owner, y = x.owner, labels[x.owner]
    # A text counts once however many windows it has, and both sides count alike but for a tilt to the clean.
    per_text = 1.0 / np.bincount(owner)[owner]
    balance = np.where(y == 1, 1.0 / per_text[y == 1].sum(), 2.0 / per_text[y == 0].sum())
    return fit(x, y.astype(float), per_text * balance)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    known = poisoning(data, "train")
    ordinary = [text for texts in ordinary_texts(data, part=0).values() for text in texts]
    texts = [entry.text for entry in known] + ordinary
    labels = np.array([entry.poisoned for entry in known] + [False] * len(ordinary), int)
    held_out = np.zeros(len(texts))
    folds = np.random.default_rng(7).integers(0, FOLDS, len(texts))
    for fold in range(FOLDS):
        chosen = np.flatnonzero(folds != fold)
        w, bias = trained([texts[i] for i in chosen], labels[chosen])
        left = np.flatnonzero(folds == fold)
        held_out[left] = scores(windows_of([texts[i] for i in left]), w, bias)
    threshold = max(
        float(np.quantile(held_out[labels == 0], 1 - FALSE_ALARMS)),
        float(np.quantile(held_out[: len(known)][labels[: len(known)] == 0], 1 - 2 * FALSE_ALARMS)),
    )
    found, alarms = held_out[labels == 1] > threshold, held_out[labels == 0] > threshold
    print(f"cross-validated: recall {found.mean():.3f} at {alarms.mean():.4f} false alarms")
    w, bias = trained(texts, labels)
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
        print(f"  {name:18} {value:.2f}")


if __name__ == "__main__":
    main()
