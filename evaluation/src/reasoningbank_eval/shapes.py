"""Which labelled sets lie in a folder, told by the shape of their files and never by a name.

    corpus.jsonl  queries.jsonl  qrels/test.tsv         documents, as the BEIR collections lay them out
    train.csv  test.csv with text and label             intents
    {"train": [[text, intent]…], "test", "oos_test"}    intents with questions out of scope
    [{"intent", "intent_template_id", "sites"}…]        tasks in stream order
    [{"question" or "query", "db" or "db_id"}…]         questions about databases
    NAME.jsonl with question, text and perhaps title    notes, each with a question that it answers

A further kind is one function and one line in `_SHAPES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from reasoningbank import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank_eval.reading import broken, columns, json_lines, json_of, table, text_in
from reasoningbank_eval.sets import Document, Kind, LabelledSet, Question, grouped

TEXT_COLUMNS = ("text", "query", "utterance", "sentence", "question")
LABEL_COLUMNS = ("category", "label", "intent")
OUT_OF_SCOPE = frozenset({"oos", "out_of_scope", "out-of-scope"})
JUDGED_SPLITS = ("test", "dev", "val")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognised:
    sets: tuple[LabelledSet, ...]
    unknown: tuple[str, ...]
    """Folders that hold none, each with the reason."""


def recognised(data: Path, names: Sequence[str] = ()) -> Recognised:
    """Every set in `data`, which may be one itself, or only those of these `names`."""
    if not data.is_dir():
        raise InvalidInput(
            f"There is no folder {data}. Name one that holds labelled sets: docs/evaluation.md lists the shapes."
        )
    folders = [data, *sorted(path for path in data.iterdir() if path.is_dir() and not path.name.startswith("."))]
    if names:
        first = {name.partition("/")[0] for name in names}
        folders = [folder for folder in folders if folder.name in first]
    sets: list[LabelledSet] = []
    unknown: list[str] = []
    for folder in folders:
        here = list(_sets_in(folder))
        sets += here
        if not here and folder != data:
            unknown.append(f"{folder.name}: no set of a known shape lies in it")
    if names:
        sets = [dataset for dataset in sets if {dataset.name, dataset.name.partition("/")[0]} & set(names)]
    missing = sorted(set(names) - {n for s in sets for n in (s.name, s.name.partition("/")[0])})
    if missing:
        raise InvalidInput(f"There is no set {', '.join(missing)} in {data}.")
    if not sets:
        raise InvalidInput(f"No labelled set of a known shape lies in {data}: docs/evaluation.md lists the shapes.")
    return Recognised(sets=tuple(sets), unknown=tuple(unknown))


def _sets_in(folder: Path) -> Iterator[LabelledSet]:
    for shape in _SHAPES:
        yield from shape(folder)


# ---------------------------------------------------------------- documents


def _collection(folder: Path) -> Iterator[LabelledSet]:
    corpus, queries = folder / "corpus.jsonl", folder / "queries.jsonl"
    label_files = [path for split in JUDGED_SPLITS if (path := folder / "qrels" / f"{split}.tsv").is_file()]
    if not (corpus.is_file() and queries.is_file() and label_files):
        return
    documents: list[Document] = []
    position: dict[str, int] = {}
    for line, row in json_lines(corpus):
        position[text_in(row, "_id", corpus, line)] = len(documents)
        title = "" if row.get("title") is None else text_in(row, "title", corpus, line)
        documents.append(Document(title=title, content=text_in(row, "text", corpus, line)))
    gains, dangling = _gains(label_files[0], position)
    questions = []
    for line, row in json_lines(queries):
        name = text_in(row, "_id", queries, line)
        if name in gains:
            own = position.get(name)
            # Some collections ask with their own documents; elsewhere a number may name both by accident.
            own = None if own is not None and own in gains[name] else own
            questions.append(Question(text=text_in(row, "text", queries, line), relevant=gains[name], own=own))
    left_out = f", {dangling:,} labels of documents that are not there" if dangling else ""
    yield LabelledSet(
        name=folder.name,
        kind=Kind.DOCUMENTS,
        documents=documents,
        questions=[question for question in questions if question.text.strip()],
        about=f"{len(documents):,} documents, {len(questions):,} questions of {label_files[0].name}{left_out}",
    )


def _gains(path: Path, position: dict[str, int]) -> tuple[dict[str, dict[int, float]], int]:
    gains: dict[str, dict[int, float]] = {}
    dangling = 0
    for line, row in table(path, tabs=True):
        try:
            query, document, score = row["query-id"], row["corpus-id"], float(row["score"])
        except (KeyError, ValueError) as error:
            raise broken(path, "needs the columns query-id, corpus-id and a number as score", line) from error
        of_query = gains.setdefault(query, {})
        if document not in position:
            dangling += 1
        elif score > 0:
            of_query[position[document]] = score
    return gains, dangling


# ---------------------------------------------------------------- intents


def _intents(folder: Path) -> Iterator[LabelledSet]:
    train, test = folder / "train.csv", folder / "test.csv"
    if not (train.is_file() and test.is_file()):
        return
    if any(_column(path, names) is None for path in (train, test) for names in (TEXT_COLUMNS, LABEL_COLUMNS)):
        return
    yield _of_intents(folder.name, _labelled_rows(train), _labelled_rows(test), ())


def _column(path: Path, names: Sequence[str]) -> str | None:
    there = columns(path)
    return next((name for name in names if name in there), None)


def _labelled_rows(path: Path) -> list[tuple[str, str]]:
    text, label = _column(path, TEXT_COLUMNS), _column(path, LABEL_COLUMNS)
    assert text is not None
    assert label is not None
    return [(row[text], row[label]) for _, row in table(path) if row[text].strip()]


def _of_intents(
    name: str, examples: Sequence[tuple[str, str]], queries: Sequence[tuple[str, str]], strangers: Sequence[str]
) -> LabelledSet:
    examples = [(text, label) for text, label in examples if label not in OUT_OF_SCOPE]
    strangers = [*strangers, *(text for text, label in queries if label in OUT_OF_SCOPE)]
    queries = [(text, label) for text, label in queries if label not in OUT_OF_SCOPE]
    positions = grouped([label for _, label in examples])
    questions = [Question(text=text, relevant=positions.get(label, {})) for text, label in queries]
    unknown = sum(1 for question in questions if not question.relevant)
    questions += [Question(text=text, relevant={}, in_scope=False) for text in strangers]
    about = f"{len(examples):,} known texts of {len(positions):,} intents, {len(queries):,} questions"
    about += f", {len(strangers):,} out of scope" if strangers else ""
    about += f"; {unknown:,} of an intent that no known text has, not counted" if unknown else ""
    return LabelledSet(
        name=name,
        kind=Kind.SCOPE if strangers else Kind.INTENTS,
        documents=[Document(title=text, content=text) for text, _ in examples],
        questions=questions,
        about=about,
    )


# ---------------------------------------------------------------- single files of JSON


def _in_json(folder: Path) -> Iterator[LabelledSet]:
    entries = []
    for path in sorted(folder.glob("*.json")):
        value = json_of(path)
        for shape in (_scope, _stream, _databases):
            dataset = shape(path, value)
            if dataset is not None:
                entries.append((path, dataset))
                break
    for path, dataset in entries:
        # The folder names a set; where several lie in one, the file does.
        name = folder.name if len(entries) == 1 else f"{folder.name}/{path.stem}"
        yield LabelledSet(
            name=name,
            kind=dataset.kind,
            documents=dataset.documents,
            questions=dataset.questions,
            about=dataset.about,
        )


def _scope(path: Path, value: Any) -> LabelledSet | None:
    if not isinstance(value, dict) or not {"train", "test"} <= value.keys():
        return None
    if not all(isinstance(value[split], list) for split in ("train", "test")):
        return None
    splits = (value.get(f"oos_{split}") for split in JUDGED_SPLITS)
    strangers: list[Any] = next((rows for rows in splits if isinstance(rows, list)), [])
    return _of_intents(
        path.stem, _pairs(path, value["train"]), _pairs(path, value["test"]), [t for t, _ in _pairs(path, strangers)]
    )


def _pairs(path: Path, rows: list[Any]) -> list[tuple[str, str]]:
    for number, row in enumerate(rows):
        if not (isinstance(row, list) and len(row) == 2 and all(isinstance(part, str) for part in row)):
            raise broken(path, f"entry {number} must be [text, intent], not {row!r:.60}")
    return [(text, label) for text, label in rows if text.strip()]


def _rows_with(value: Any, *fields: str) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and set(fields) <= value[0].keys()


def _stream(path: Path, value: Any) -> LabelledSet | None:
    if not _rows_with(value, "intent", "intent_template_id"):
        return None
    tasks = []
    for number, row in enumerate(value):
        if not isinstance(row, dict) or not isinstance(row.get("intent"), str) or "intent_template_id" not in row:
            raise broken(path, f"entry {number} needs an intent and an intent_template_id")
        sites = row.get("sites")
        if row["intent"].strip() and not (isinstance(sites, list) and len(sites) > 1):
            tasks.append((row["intent"], str(row["intent_template_id"])))
    earlier: dict[str, dict[int, float]] = {}
    questions = []
    for position, (text, template) in enumerate(tasks):
        questions.append(Question(text=text, relevant=dict(earlier.get(template, {})), own=position))
        earlier.setdefault(template, {})[position] = 1.0
    repeats = sum(1 for question in questions if question.relevant)
    return LabelledSet(
        name=path.stem,
        kind=Kind.STREAM,
        documents=[Document(title=text, content=text) for text, _ in tasks],
        questions=questions,
        about=(
            f"{len(tasks):,} tasks of a single site of {len(value):,}, "
            f"{repeats:,} with an earlier one of their template"
        ),
    )


def _databases(path: Path, value: Any) -> LabelledSet | None:
    database = next((name for name in ("db", "db_id") if _rows_with(value, name)), None)
    # Where both are there, `query` is the SQL.
    text_field = next((name for name in ("question", "query") if _rows_with(value, name)), None)
    if database is None or text_field is None:
        return None
    for number, row in enumerate(value):
        if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in (database, text_field)):
            raise broken(path, f"entry {number} needs {database} and {text_field} as texts")
    rows = [(row[text_field], row[database]) for row in value if row[text_field].strip()]
    positions = grouped([label for _, label in rows])
    questions = []
    for position, (text, label) in enumerate(rows):
        gains = {other: gain for other, gain in positions[label].items() if other != position}
        questions.append(Question(text=text, relevant=gains, own=position))
    return LabelledSet(
        name=path.stem,
        kind=Kind.LEFT_OUT,
        documents=[Document(title=text, content=text) for text, _ in rows],
        questions=questions,
        about=f"{len(rows):,} questions about {len(positions):,} databases, each left out when it is asked",
    )


# ---------------------------------------------------------------- notes


def _notes(folder: Path) -> Iterator[LabelledSet]:
    paths = [path for path in sorted(folder.glob("*.jsonl")) if _begins_with_note(path)]
    for path in paths:
        documents: list[Document] = []
        questions: list[Question] = []
        for line, row in json_lines(path):
            title = text_in(row, "title", path, line) if row.get("title") else ""
            for name in ("question", "question2"):
                if row.get(name):
                    text = text_in(row, name, path, line)
                    questions.append(Question(text=text, relevant={len(documents): 1.0}))
            documents.append(Document(title=title, content=text_in(row, "text", path, line)))
        yield LabelledSet(
            name=folder.name if len(paths) == 1 else f"{folder.name}/{path.stem}",
            kind=Kind.NOTES,
            documents=documents,
            questions=[question for question in questions if question.text.strip()],
            about=f"{len(documents):,} notes, {len(questions):,} questions",
        )


def _begins_with_note(path: Path) -> bool:
    first = next(iter(json_lines(path)), None)
    return first is not None and {"question", "text"} <= first[1].keys()


_SHAPES: tuple[Callable[[Path], Iterator[LabelledSet]], ...] = (_collection, _intents, _in_json, _notes)
