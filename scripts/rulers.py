"""Print the rulers that the house is held to: python scripts/rulers.py [--list RULER].

Each line is one count, its limit, and whether it holds; `--list` names the places behind a count. Ends with 1 when one
does not hold. Reads the sources as text and runs none of them.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "reasoningbank"
SHARED_LINES = 6
"""So many lines to the letter in two places are a duplicate."""
IRREGULAR = frozenset(
    [
        "begun",
        "bound",
        "broken",
        "brought",
        "built",
        "chosen",
        "come",
        "cut",
        "done",
        "drawn",
        "driven",
        "fallen",
        "felt",
        "found",
        "given",
        "gone",
        "grown",
        "heard",
        "held",
        "kept",
        "known",
        "laid",
        "left",
        "lent",
        "lost",
        "made",
        "meant",
        "met",
        "paid",
        "put",
        "read",
        "said",
        "seen",
        "sent",
        "set",
        "shown",
        "shut",
        "sought",
        "spent",
        "split",
        "spoken",
        "stood",
        "struck",
        "sunk",
        "taken",
        "taught",
        "thrown",
        "told",
        "thought",
        "understood",
        "woken",
        "worn",
        "written",
    ]
)
NOT_PARTICIPLES = frozenset(
    ["embed", "exceed", "feed", "need", "proceed", "seed", "speed", "succeed", "bed", "red", "shed"]
)
NOUNS_TOO = frozenset(["found", "set", "read", "put", "cut", "split"])
"""Names like `read` and `set` are imperatives more often than participles."""


class Ruler:
    def __init__(
        self, name: str, limit: float, places: Callable[[], list[str]], *, of: Callable[[], int] | None = None
    ) -> None:
        self.name, self.limit, self._places, self._of = name, limit, places, of
        self.places = places()
        self.value = round(100 * len(self.places) / of(), 1) if of else len(self.places)

    def line(self) -> str:
        unit = " %" if self._of else ""
        verdict = "ok" if self.value <= self.limit else "OVER"
        return f"{self.name:<46} {self.value:>7}{unit:<2} limit {self.limit:>5}  {verdict}"


def module_name(path: Path) -> str:
    words = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(words[:-1] if words[-1] == "__init__" else words)


SOURCES = {path: path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
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
                if target in MODULES and target != "reasoningbank":
                    graph[name].add(target)
    return graph


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else module


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
    return [(name, node) for name, node in nodes() if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def crowded_ports() -> list[str]:
    crowded = []
    for module, node in classes():
        if module != "reasoningbank.ports":
            continue
        methods = [part for part in node.body if isinstance(part, ast.FunctionDef) and not part.name.startswith("__")]
        if len(methods) > 12:
            crowded.append(f"{node.name}: {len(methods)} methods")
    return crowded


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
        kept = [
            (number, line.strip())
            for number, line in enumerate(text.splitlines(), 1)
            if number not in import_lines[module_name(path)]
            and len(line.strip()) > 3
            and not line.strip().startswith(("#", '"""', "@"))
        ]
        for start in range(len(kept) - SHARED_LINES + 1):
            window = kept[start : start + SHARED_LINES]
            place = f"{path.relative_to(ROOT)}:{window[0][0]}"
            key = tuple(line for _, line in window)
            if key in seen and seen[key] != place:
                repeated.setdefault(seen[key].rpartition(":")[0] + path.name, f"{seen[key]} ~ {place}")
            seen.setdefault(key, place)
    return sorted(repeated.values())


def is_participle(name: str) -> bool:
    word = name.lstrip("_")
    if "_" in word or word in NOT_PARTICIPLES or word in NOUNS_TOO:
        return False
    return word in IRREGULAR or (len(word) > 4 and word.endswith("ed"))


def participles() -> list[str]:
    return [f"{module}.{node.name}" for module, node in functions() if is_participle(node.name)]


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
    return [
        Ruler("rooms that import each other", 0, mutual_rooms),
        Ruler("circles of imports", 0, cycles),
        Ruler("ports with more than 12 methods", 0, crowded_ports),
        Ruler("broad excepts", 10, broad_excepts),
        Ruler("environment variables", 14, environment_variables),
        Ruler("environment variables outside their table", 0, variables_outside_the_table),
        Ruler(f"runs of {SHARED_LINES} lines that stand twice", 0, repeated_lines),
        Ruler("functions named by a bare participle", 2, participles, of=lambda: len(functions())),
        Ruler("public class names used twice", 0, names_used_twice),
        Ruler("tests that pass or fail by chance", 0, unstable_tests),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", metavar="WORD", help="name the places behind each ruler with this word in its name")
    asked = parser.parse_args()
    lines = sum(len(text.splitlines()) for text in SOURCES.values())
    print(f"{len(MODULES)} modules, {lines:,} lines, {len(functions()):,} functions in the wheel")
    measured = rulers()
    for ruler in measured:
        print(ruler.line())
        if asked.list is not None and asked.list in ruler.name:
            print("\n".join(f"    {place}" for place in ruler.places))
    return int(any(ruler.value > ruler.limit for ruler in measured))


if __name__ == "__main__":
    raise SystemExit(main())
