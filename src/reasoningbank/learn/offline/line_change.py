"""Says in a few words what an edit changed about a name: what stands there now instead of what stood there.

Settings, and files that only support tests, are told by how they are called. What is written anew is no change: whoever
adds the function that a test asked for has done the task, and nobody has to know it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.patterns import pattern
from reasoningbank.learn.offline.edits import EditedLines
from reasoningbank.learn.offline.typos import is_typo
from reasoningbank.learn.offline.words import clip_line, one_line

LONGEST_SIDE_CHARS = 72
MOST_ADDED_LINES = 3
MOST_LINES_OF_AN_EDIT = 12
_CONFIG = pattern(
    r"(?i).*\.(?:toml|cfg|ini|json|jsonc|ya?ml|env|properties|gradle|kts|xml|csproj|props|tf|tfvars|conf|lock|mod"
    r"|sbt|gemspec)"
    r"|(?:\.env.*|Dockerfile.*|Makefile|Gemfile|Procfile|Rakefile|requirements.*\.txt|setup\.py|settings.*\.py"
    r"|.*\.config\.\w+|\.\w+rc(?:\.\w+)?)"
)
_MANIFEST = pattern(
    r"package\.json|pom\.xml|build\.gradle(?:\.kts)?|Cargo\.toml|pyproject\.toml|requirements.*\.txt|Gemfile"
    r"|go\.mod|.*\.csproj"
    r"|composer\.json|Package\.swift|mix\.exs|pubspec\.yaml|setup\.(?:py|cfg)|Pipfile|environment\.ya?ml|deps\.edn"
    r"|build\.sbt"
)
_TEST_SUPPORT = pattern(
    r"(?:conftest\.py|(?:jest|vitest|test)[.-]?setup\.\w+|setupTests\.\w+|test_helper\.rb|rails_helper\.rb"
    r"|spec_helper\.rb)"
)
_IMPORT = pattern(
    r"\s*(?:from\s+\S+\s+import\b|import\b|(?:const|let|var)\s.{1,120}=\s*require\(|use\s+[\w:\\]+|using\s"
    r"|require\b|#include\b|\"[\w./-]+\"$)"
)
_KEY = pattern(r"[\"'\w.-]+\s*[:=]")
LEAST_ALIKE = 0.5
_TOKEN = pattern(r"\w+|\s+|[^\w\s]")
_WORD = pattern(r"\w+")


@dataclass(frozen=True, slots=True)
class LineChange:
    old: str
    new: str
    path: str

    @property
    def text(self) -> str:
        where = f" in {self.path}"
        if not self.old:
            return f"add `{self.new}`{where}"
        if not self.new:
            return f"leave out `{self.old}`{where}"
        return f"`{self.new}` instead of `{self.old}`{where}"

    def names(self, name: str) -> bool:
        return _has_name(self.old, name) or _has_name(self.new, name)


def is_config(edit: EditedLines) -> bool:
    return _CONFIG.fullmatch(PurePosixPath(edit.path.replace("\\", "/")).name) is not None


def is_manifest(edit: EditedLines) -> bool:
    """True if it changes the list of what the project depends on."""
    return _MANIFEST.fullmatch(PurePosixPath(edit.path.replace("\\", "/")).name) is not None


def is_test_support(edit: EditedLines) -> bool:
    return _TEST_SUPPORT.fullmatch(PurePosixPath(edit.path.replace("\\", "/")).name) is not None


def changes_about(edit: EditedLines, names: Sequence[str]) -> Iterator[LineChange]:
    """Changes of an edit in lines that have one of the names; with no names, all its changes."""
    if edit.is_new or len(edit.removed) + len(edit.added) > MOST_LINES_OF_AN_EDIT:
        return
    path = PurePosixPath(edit.path).name if is_config(edit) else _short_path(edit.path)
    pairs, new_lines, old_lines = _paired(edit.removed, edit.added)
    for old, new in pairs:
        if not names or any(_has_name(line, name) for line in (old, new) for name in names):
            change = _narrowed(old, new, names)
            if change[0] != change[1] and not is_typo(*change):
                yield LineChange(*change, path)
    fresh = [line for line in new_lines if not names or any(_has_name(line, name) for name in names)]
    supports = is_config(edit) or is_test_support(edit)
    telling = [line for line in fresh if supports or (_IMPORT.match(line) or line.lstrip().startswith("@"))]
    if telling and len(new_lines) <= (MOST_LINES_OF_AN_EDIT if supports else MOST_ADDED_LINES):
        yield LineChange("", clip_line(" ".join(telling[:MOST_ADDED_LINES]), LONGEST_SIDE_CHARS), path)
    elif not pairs and not fresh and old_lines and supports:
        yield LineChange(clip_line(old_lines[0], LONGEST_SIDE_CHARS), "", path)


def _short_path(path: str) -> str:
    """The end of a path, which is what it has in common on every machine."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    return "/".join(parts[-2:]) if path.startswith(("/", "~")) or ":" in path[:3] else "/".join(parts[-4:])


def _paired(old_lines: Sequence[str], new_lines: Sequence[str]) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """Pairs of lines that became other lines, the most alike together; then lines that came, and lines that went."""
    pairs: list[tuple[str, str]] = []
    additions = list(new_lines)
    deletions: list[str] = []
    for old in old_lines:
        likeness = [(_likeness(old.strip(), new.strip()), new) for new in additions]
        best = max(likeness, default=(0.0, ""))
        if best[0] >= LEAST_ALIKE:
            pairs.append((old, best[1]))
            additions.remove(best[1])
        else:
            deletions.append(old)
    return pairs, additions, deletions


def _likeness(old: str, new: str) -> float:
    """How much one line looks like the other; a setting that is given another value looks like itself."""
    key = _KEY.match(old)
    same_key = key is not None and key.group() == (_KEY.match(new) or key).group() and _KEY.match(new) is not None
    return 1.0 if same_key else SequenceMatcher(None, old, new, autojunk=False).ratio()


def _narrowed(old: str, new: str, names: Sequence[str]) -> tuple[str, str]:
    """Only what differs, as whole words; the whole lines where that says too little or they are short imports."""
    before, after = one_line(old), one_line(new)
    if _IMPORT.match(before) and max(len(before), len(after)) <= LONGEST_SIDE_CHARS:
        return before, after
    ours, theirs = _TOKEN.findall(before), _TOKEN.findall(after)
    start = 0
    while start < min(len(ours), len(theirs)) and ours[start] == theirs[start]:
        start += 1
    end = 0
    while end < min(len(ours), len(theirs)) - start and ours[-1 - end] == theirs[-1 - end]:
        end += 1
    while end:
        text = "".join(ours[start : len(ours) - end]) + "".join(theirs[start : len(theirs) - end])
        if all(text.count(opening) <= text.count(closing) for opening, closing in ("()", "[]", "{}")):
            break
        # A bracket is opened and not closed again.
        end -= 1
    narrow = "".join(ours[start : len(ours) - end]).strip(), "".join(theirs[start : len(theirs) - end]).strip()
    says = any(_WORD.search(side) for side in narrow) and (
        not names or any(_has_name(side, name) for side in narrow for name in names)
    )
    if not says:
        return clip_line(before, LONGEST_SIDE_CHARS), clip_line(after, LONGEST_SIDE_CHARS)
    return clip_line(narrow[0], LONGEST_SIDE_CHARS), clip_line(narrow[1], LONGEST_SIDE_CHARS)


def _has_name(text: str, name: str) -> bool:
    """True if a text has a name, or the last part of one, as words of its own."""
    words = _WORD.findall(name)
    if not words:
        return False
    there = _WORD.findall(text)
    return words[-1] in there
