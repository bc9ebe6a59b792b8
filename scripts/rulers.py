"""Print the rulers that the house is held to: python scripts/rulers.py [--list RULER].

Each line is one count, its limit, where it is to come to, and whether it holds; `--list` names the places behind a
count. Ends with 1 when one does not hold. Reads the sources as text and runs none of them. `python -m bench walks`
counts what calls run through.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
CORE = "reasoningbank"
SHARED_LINES = 6
"""So many lines to the letter in two places are a duplicate."""
IRREGULAR = frozenset(
    """
    begun bound broken brought built chosen come cut done drawn driven fallen felt found given gone grown heard
    held kept known laid left lent lost made meant met paid put read said seen sent set shown shut sought spent
    split spoken stood struck sunk taken taught thrown told thought understood woken worn written
    """.split()  # noqa: SIM905 - a list of words is read more easily without sixty quotes
)
NOT_PARTICIPLES = frozenset(
    ["embed", "exceed", "feed", "need", "proceed", "seed", "speed", "succeed", "bed", "red", "shed"]
)
IMPERATIVES_TOO = frozenset(["found", "set", "read", "put", "cut", "split"])
"""Names like `read` and `set` are imperatives more often than participles."""
NO_NOUNS = frozenset(["one", "ones", "several", "others"])
"""Variables named by how many they are, which say as little as a participle does."""
OPENINGS = ("What", "Whether", "Those", "Whose", "Of", "So", "By")
SHORT_LINES = 6
MOST_PORT_METHODS = 12
PARTS_OF_PLUGINS = (f"{CORE}.adapters.", f"{CORE}.bus.")
"""Kept in the core's folder because programs import them by these names."""
FIELDS = ("task_type", "cognitive_pattern")
"""Fields of a memory with names that nothing else has: one that is filtered by, one that is only shown."""
PEERS = """
peer          lines    functions  public names  private, called once  numeric constants
cognee        167,322  5,582      3,719
letta         137,829  3,758      2,441
basic-memory  104,297  2,345      1,777         14 %                  33
graphiti      36,688   1,283      571           6 %                   37
txtai         32,584   1,475      451           0 %                   0
llm           16,089   541        312           6 %                   6
starlette     6,712    504        247           3 %                   78
"""


class Ruler:
    """A count with a limit that holds today and, where that is not yet low enough, the goal."""

    def __init__(
        self,
        name: str,
        limit: float,
        places: Callable[[], list[str]],
        *,
        of: Callable[[], int] | None = None,
        goal: float | None = None,
    ) -> None:
        self.name, self.limit, self._of, self._goal = name, limit, of, goal
        self.places = places()
        self.value = round(100 * len(self.places) / of(), 1) if of else len(self.places)

    def line(self) -> str:
        unit = " %" if self._of else ""
        verdict = "ok" if self.value <= self.limit else "OVER"
        goal = "" if self._goal is None else f", to come to {self._goal:,}"
        return f"{self.name:<46} {self.value:>7,}{unit:<2} limit {self.limit:>6,}  {verdict}{goal}"


def module_name(path: Path) -> str:
    words = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(words[:-1] if words[-1] == "__init__" else words)


SOURCES = {path: path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}
MODULES = {module_name(path): ast.parse(text, str(path)) for path, text in SOURCES.items()}


@cache
def nodes() -> list[tuple[str, ast.AST]]:
    return [(name, node) for name, tree in MODULES.items() for node in ast.walk(tree)]


@cache
def imports() -> dict[str, set[str]]:
    """Which module imports which, at any depth of the code but not for types alone."""
    graph: dict[str, set[str]] = {name: set() for name in MODULES}
    for name, node in nodes():
        if isinstance(node, ast.Import):
            graph[name] |= {alias.name for alias in node.names if alias.name in MODULES}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                target = whole if whole in MODULES else node.module
                if target in MODULES and target != CORE:
                    graph[name].add(target)
    return graph


def package(module: str) -> str:
    return module.partition(".")[0]


def room(module: str) -> str:
    """A folder of the core, or a plugin."""
    return module.split(".")[1] if module.startswith(f"{CORE}.") else package(module)


def mutual_rooms() -> list[str]:
    pairs = {(room(a), room(b)) for a, others in imports().items() for b in others if room(a) != room(b)}
    return sorted(f"{a} and {b}" for a, b in pairs if a < b and (b, a) in pairs)


def cycles() -> list[str]:
    """Groups of modules that import one another in a circle (Tarjan's components)."""
    graph, order, low, stack, found = imports(), {}, {}, [], []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in graph[node]:
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            group = [stack.pop()]
            while group[-1] != node:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(" → ".join(sorted(group)))

    sys.setrecursionlimit(10_000)
    for name in graph:
        if name not in order:
            visit(name)
    return found


def classes() -> list[tuple[str, ast.ClassDef]]:
    return [(name, node) for name, node in nodes() if isinstance(node, ast.ClassDef)]


@cache
def functions() -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    return [(name, node) for name, node in nodes() if _is_function(node)]


def widest_port() -> list[str]:
    """Methods of the port that has most, with those of its bases: ten narrow ones put together are one wide port."""
    ports = {
        node.name: node
        for module, node in classes()
        if f"{module}.".startswith((f"{CORE}.ports.", f"{CORE}.store.engine."))
    }

    def methods(name: str) -> set[str]:
        node = ports.get(name)
        if node is None:
            return set()
        own = {f"{part.name}" for part in node.body if _is_function(part) and not part.name.startswith("__")}
        return own.union(*(methods(base.id) for base in node.bases if isinstance(base, ast.Name)))

    widest = max(ports, key=lambda name: len(methods(name)))
    return [f"{widest}.{method}" for method in sorted(methods(widest))]


def _is_function(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def broad_excepts() -> list[str]:
    return [
        f"{module}:{node.lineno}"
        for module, node in nodes()
        if isinstance(node, ast.ExceptHandler) and _is_broad(node.type)
    ]


def _is_broad(caught: ast.expr | None) -> bool:
    return caught is None or (isinstance(caught, ast.Name) and caught.id in ("Exception", "BaseException"))


def environment_variables() -> list[str]:
    pattern = re.compile(r"REASONINGBANK_[A-Z_]+")
    texts = (node.value for _, node in nodes() if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return sorted({name for text in texts for name in pattern.findall(text)})


def variables_outside_the_table() -> list[str]:
    table = next(
        node.value
        for node in ast.walk(MODULES["reasoningbank.config.environment"])
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "VARIABLES"
    )
    known = {key.value for key in table.keys if isinstance(key, ast.Constant)} if isinstance(table, ast.Dict) else set()
    return [name for name in environment_variables() if name.rstrip("_") not in known | {"REASONINGBANK"}]


def repeated_lines() -> list[str]:
    """Runs of six meaningful lines that stand in two places."""
    seen: dict[tuple[str, ...], str] = {}
    repeated: dict[str, str] = {}
    import_lines: dict[str, set[int]] = defaultdict(set)
    for name, node in nodes():
        if isinstance(node, ast.Import | ast.ImportFrom):
            import_lines[name].update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for path, text in SOURCES.items():
        place, imports_here = path.relative_to(ROOT), import_lines[module_name(path)]
        kept = [
            (number, line.strip())
            for number, line in enumerate(text.splitlines(), 1)
            if number not in imports_here and len(line.strip()) > 3 and not line.strip().startswith(("#", '"""', "@"))
        ]
        for start in range(len(kept) - SHARED_LINES + 1):
            window = kept[start : start + SHARED_LINES]
            key = tuple(line for _, line in window)
            first = seen.setdefault(key, f"{place}:{window[0][0]}")
            if first != f"{place}:{window[0][0]}":
                repeated.setdefault(first.rpartition(":")[0] + path.name, f"{first} ~ {place}:{window[0][0]}")
    return sorted(repeated.values())


def is_participle(name: str) -> bool:
    word = name.lstrip("_")
    if "_" in word or word in NOT_PARTICIPLES or word in IMPERATIVES_TOO:
        return False
    return word in IRREGULAR or (len(word) > 4 and word.endswith("ed"))


def participles() -> list[str]:
    return [f"{module}.{node.name}" for module, node in functions() if is_participle(node.name)]


@cache
def bound_names() -> list[tuple[str, str]]:
    """Each place where a variable or a parameter gets its value, and the name it gets."""
    bound: list[tuple[str, str]] = []
    for module, node in nodes():
        if isinstance(node, ast.arg) and node.arg not in ("self", "cls"):
            bound.append((f"{module}:{node.lineno}", node.arg))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.append((f"{module}:{node.lineno}", node.id))
    return bound


def variables_that_are_no_nouns() -> list[str]:
    return [f"{place} {name}" for place, name in bound_names() if _is_no_noun(name)]


def _is_no_noun(name: str) -> bool:
    return is_participle(name) or name in {"found", *NO_NOUNS}


@cache
def docstrings() -> list[tuple[str, str]]:
    """Those of modules, classes, functions, and of the names that they stand below."""
    return [
        (f"{module}:{part.lineno}", part.value.value.strip())
        for module, node in nodes()
        for part in _body_of(node)
        if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and isinstance(part.value.value, str)
    ]


def _body_of(node: ast.AST) -> list[ast.stmt]:
    body = getattr(node, "body", None)
    return body if isinstance(body, list) else []


def docstrings_that_are_half_sentences() -> list[str]:
    return [f"{place} {text.splitlines()[0]}" for place, text in docstrings() if text.split(" ", 1)[0] in OPENINGS]


@cache
def used_names() -> Counter[str]:
    """How often each name is read, and how often it stands in the text of an import or an attribute."""
    used: Counter[str] = Counter()
    for _, node in nodes():
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used[node.id] += 1
        elif isinstance(node, ast.Attribute):
            used[node.attr] += 1
        elif isinstance(node, ast.ImportFrom):
            used.update(alias.name for alias in node.names)
    return used


@cache
def called_names() -> Counter[str]:
    called: Counter[str] = Counter()
    for _, node in nodes():
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
            called.update([name] if name else [])
    return called


def private_called_once() -> list[str]:
    """One that is handed over instead, as a row of a table, is not called by its name and does not count."""
    once = [
        (module, node)
        for module, node in functions()
        if node.name.startswith("_")
        and not node.name.startswith("__")
        and used_names()[node.name] == called_names()[node.name] == 1
    ]
    return [f"{module}.{node.name}: {length(node)} lines" for module, node in once]


def short_and_called_once() -> list[str]:
    return [place for place in private_called_once() if int(place.split()[-2]) <= SHORT_LINES]


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its decorators, as a reader counts them."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def public_names() -> list[str]:
    """Classes, functions and methods without an underscore."""
    return [
        f"{module}.{part.name}"
        for module, node in nodes()
        if isinstance(node, ast.Module | ast.ClassDef)
        for part in node.body
        if (isinstance(part, ast.ClassDef) or _is_function(part)) and not part.name.startswith("_")
    ]


def files_with_a_field() -> list[str]:
    """Files that name the field of a memory that most of them name."""
    by_field = {
        field: [str(path.relative_to(ROOT)) for path, text in SOURCES.items() if re.search(rf"\b{field}\b", text)]
        for field in FIELDS
    }
    return max(by_field.values(), key=len)


def lines_of(modules: Callable[[str], bool]) -> Callable[[], list[str]]:
    return lambda: [
        f"{place}:{number}"
        for path, text in SOURCES.items()
        if modules(module_name(path))
        for place in [path.relative_to(ROOT)]
        for number, _ in enumerate(text.splitlines(), 1)
    ]


def is_core(module: str) -> bool:
    return package(module) == CORE and not f"{module}.".startswith(PARTS_OF_PLUGINS)


def names_used_twice() -> list[str]:
    where: dict[str, list[str]] = defaultdict(list)
    for module, node in classes():
        if not node.name.startswith("_"):
            where[node.name].append(module)
    return sorted(f"{name}: {', '.join(places)}" for name, places in where.items() if len(places) > 1)


def unstable_tests() -> list[str]:
    """Tests that failed in a run and passed alone, as `scripts/test.py` has written them down."""
    file = ROOT / "tests" / "unstable.txt"
    return file.read_text("utf-8").splitlines() if file.exists() else []


def rulers() -> list[Ruler]:
    def count_functions() -> int:
        return len(functions())

    return [
        Ruler("rooms that import each other", 0, mutual_rooms),
        Ruler("circles of imports", 0, cycles),
        Ruler("broad excepts", 10, broad_excepts),
        Ruler("environment variables", 14, environment_variables),
        Ruler("environment variables outside their table", 0, variables_outside_the_table),
        Ruler(f"runs of {SHARED_LINES} lines that stand twice", 0, repeated_lines),
        Ruler("public class names used twice", 0, names_used_twice),
        Ruler("tests that pass or fail by chance", 0, unstable_tests),
        # How much there is to know. The limits are what was reached; they only ever go down.
        Ruler("lines", 113_760, lines_of(lambda _: True), goal=95_000),
        Ruler("lines of the core", 76_800, lines_of(is_core), goal=50_000),
        Ruler("functions", 7_605, lambda: [f"{module}.{node.name}" for module, node in functions()], goal=6_300),
        Ruler("public names", 4_660, public_names, goal=3_500),
        Ruler("public names of the core", 3_120, lambda: list(filter(is_core, public_names())), goal=2_000),
        Ruler("methods of the widest port, with its bases", 49, widest_port, goal=12),
        Ruler("files that name one field of a memory", 43, files_with_a_field, goal=2),
        # How it reads.
        Ruler("private functions called once", 11.1, private_called_once, of=count_functions, goal=10),
        Ruler(f"of these, {SHORT_LINES} lines or fewer", 4.8, short_and_called_once, of=count_functions, goal=3),
        Ruler("functions named by a bare participle", 1.7, participles, of=count_functions),
        Ruler("variables that are no nouns", 0.9, variables_that_are_no_nouns, of=lambda: len(bound_names()), goal=1),
        Ruler(
            f"docstrings that begin with {OPENINGS[0]}, {OPENINGS[1]} …", 20.2, docstrings_that_are_half_sentences,
            of=lambda: len(docstrings()), goal=3,
        ),
    ]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", metavar="WORD", help="name the places behind each ruler with this word in its name")
    parser.add_argument("--in", dest="within", metavar="PREFIX", default="", help="only the places that begin with it")
    asked = parser.parse_args()
    measured = rulers()
    for ruler in measured:
        print(ruler.line())
        if asked.list is not None and asked.list in ruler.name:
            print("\n".join(f"    {place}" for place in ruler.places if place.startswith(asked.within)))
    print(PEERS.rstrip())
    return int(any(ruler.value > ruler.limit for ruler in measured))


if __name__ == "__main__":
    raise SystemExit(main())
