"""Lets a model write the text of merged memories; whatever is wrong with its answer, the text that is there is kept.

Only for what agents of ours have learned: the user's words stay the user's, and a stranger's are not sent. The answer
must hold the same literals and turn nothing around. Evidence and trust follow the same rules as without a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from reasoningbank.core.errors import LLMError
from reasoningbank.core.frozen import replace
from reasoningbank.core.learning import Lesson, Message, VerdictOutcome
from reasoningbank.core.types import Memory
from reasoningbank.learn.answers import Answer, parse
from reasoningbank.learn.consolidate.plan import Merge, Rewritten
from reasoningbank.learn.consolidate.wording import wording_of
from reasoningbank.learn.prompting import prompt
from reasoningbank.learn.traces import cut_middle, fence
from reasoningbank.ports import LLM

MOST_REWRITTEN = 50
"""In one run; the rest keep the words that they have."""
ANSWER_TOKENS = 800


def rewritten(
    merges: Sequence[Merge], memories: Mapping[str, Memory], llm: LLM, scrub: Callable[[str], str]
) -> list[Merge]:
    """The merges with texts that a model wrote. `memories` are those that may be rewritten, by id."""
    result: list[Merge] = []
    budget = MOST_REWRITTEN
    for merge in merges:
        notes = [memories[i] for i in (merge.kept, *merge.merged) if i in memories]
        worth_it = merge.kept in memories and len({wording_of(note).whole for note in notes}) > 1
        text = None
        if worth_it and budget > 0:
            budget -= 1
            try:
                # A model is shown five notes at most.
                text = _text(notes[:5], llm, scrub)
            except LLMError:
                # Out of budget, unreachable or unwilling: nobody waits for it, and nothing is lost without it.
                budget = 0
        result.append(merge if text is None else replace(merge, text=text))
    return result


def _text(notes: Sequence[Memory], llm: LLM, scrub: Callable[[str], str]) -> Rewritten | None:
    texts = [scrub(f"{note.title}\n{note.description}\n{note.content}") for note in notes]
    fences = [fence(cut_middle(text, 600), f"note {number}") for number, text in enumerate(texts, 1)]
    outcome = notes[0].outcome
    messages = [
        Message(role="system", text=prompt("merge").text),
        Message(role="user", text="\n\n".join([f"Outcome of the notes: {outcome}", *fences])),
    ]
    for _ in range(2):
        completion = llm.complete(messages, max_tokens=ANSWER_TOKENS)
        answer = parse(completion.text, finding=VerdictOutcome(outcome.value), most=1, grounds=texts)
        if completion.cut_short:
            answer = Answer(problems=("It was cut off. Be briefer.",))
        problems = answer.problems or tuple(
            problem for lesson in answer.lessons for problem in _unfaithful(lesson, notes)
        )
        if not problems:
            return next((_of(lesson, llm.name) for lesson in answer.lessons), None)
        listing = "\n".join(f"- {problem}" for problem in problems)
        messages += [
            Message(role="assistant", text=cut_middle(completion.text, ANSWER_TOKENS) or "(nothing)"),
            Message(role="user", text=prompt("repair").text.replace("{problems}", listing)),
        ]
    return None


def _of(lesson: Lesson, model: str) -> Rewritten:
    return Rewritten(title=lesson.title, description=lesson.description, content=lesson.content, by=model)


def _unfaithful(lesson: Lesson, notes: Sequence[Memory]) -> list[str]:
    """Problems of the new text: what it has lost, made up or turned around."""
    old = wording_of(notes[0])
    new = wording_of(replace(notes[0], title=lesson.title, description=lesson.description, content=lesson.content))
    problems = []
    missing, extra = old.literals - new.literals, new.literals - old.literals
    if missing:
        problems.append(f"It lost {', '.join(sorted(missing)[:5])}.")
    if extra:
        problems.append(f"It added {', '.join(sorted(extra)[:5])}.")
    if (new.avoids, new.denies, sorted(set(new.qualifiers))) != (
        old.avoids,
        old.denies,
        sorted(set(old.qualifiers)),
    ):
        problems.append("It lost or added a negation or a condition.")
    return problems
