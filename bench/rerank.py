"""What a second look by a language model is worth, on labelled documents, over any OpenAI-compatible server.

    python -m bench rerank --data DIR --url http://127.0.0.1:8080/v1 [--model NAME] [--questions N] [--embedder hash]

Prints nDCG@10 and recall@10 of the same questions with and without it, how often the model's answer could be read, and
the time it took. Needs a model; nothing else in the project does. And the evaluation: pip install -e ./evaluation.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from reasoningbank_eval.asking import catch_up
from reasoningbank_eval.measures import ndcg, recall
from reasoningbank_eval.sets import Kind, draft_of, sampled
from reasoningbank_eval.shapes import recognised

from reasoningbank.llm.openai import OpenAILLM
from reasoningbank.wiring import ReasoningBank


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench rerank", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", default="local")
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--embedder", default="hash")
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args(arguments)
    model = OpenAILLM(asked.model, base_url=asked.url, api_key="none")
    for labelled in recognised(asked.data).sets:
        if labelled.kind is not Kind.DOCUMENTS:
            continue
        chosen = sampled(labelled, asked.questions, asked.seed)
        with (
            tempfile.TemporaryDirectory() as folder,
            ReasoningBank.open(Path(folder) / "bank.db", embedder=asked.embedder, llm=model) as bank,
        ):
            ids = bank.record_many([draft_of(document) for document in chosen.documents])
            catch_up(bank)
            place = {memory_id: number for number, memory_id in enumerate(ids)}
            figures: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
            answered, spent = 0, 0.0
            for question in chosen.questions:
                for rerank in (False, True):
                    began = time.monotonic()
                    found = bank.search(question.text, limit=10, floor=0.0, min_confidence=0.0, rerank=rerank)
                    spent += (time.monotonic() - began) if rerank else 0.0
                    answered += bool(found.reranked_by)
                    shown = [place[hit.id] for hit in found]
                    figures[rerank].append((ndcg(shown, question.relevant), recall(shown, question.relevant)))
        count = len(chosen.questions)
        print(f"{labelled.name}: {count} questions, {asked.embedder}, {model.name}")
        for rerank, name in ((False, "as found"), (True, "second look")):
            mean = np.mean(figures[rerank], axis=0)
            print(f"  {name:12} nDCG@10 {mean[0]:.3f}  recall@10 {mean[1]:.3f}")
        print(f"  answers read {answered} of {count}, {spent / count:.2f} s a question", file=sys.stdout, flush=True)
    return 0
