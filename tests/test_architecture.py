"""Which room may import which, told as a table. A broken rule fails with a sentence that names it.

Imports inside functions and under `TYPE_CHECKING` count like any other: a room that needs to know the type knows the room.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import reasoningbank

PACKAGE = Path(reasoningbank.__file__).parent

MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "files": set(),
    "forking": set(),
    "location": {"core"},
    "plugins": {"core"},
    "ports": {"core", "location"},
    "config": {"core", "files", "location"},
    "store": {"core", "files", "forking", "location", "ports"},
    "lexical": {"core", "ports"},
    "index": {"core", "files", "forking", "location", "ports", "lexical"},
    "embed": {"core", "files", "forking", "ports"},
    "llm": {"core", "forking", "ports"},
    "guard": {"core", "ports"},
    "context": {"core", "ports", "guard"},
    "graph": {"core", "ports", "guard", "context"},
    "recall": {"core", "forking", "ports", "lexical", "guard", "context", "graph"},
    "learn": {"core", "files", "ports", "guard", "context", "graph", "recall"},
    "exchange": {"core", "files", "ports", "guard", "context", "graph"},
    "bank": {"core", "ports", "guard", "context", "graph", "recall", "learn", "exchange"},
    "wiring": {
        "files", "location", "core", "forking", "plugins", "ports", "guard", "context", "graph", "recall", "learn",
        "exchange", "bank", "config", "store", "index", "embed", "llm",
    },
    "serve": {
        "location", "core", "ports", "guard", "context", "graph", "recall", "learn", "exchange", "bank", "config", "wiring",
    },
    "cli": {
        "files", "location", "core", "plugins", "guard", "ports", "context", "graph", "recall", "learn", "exchange", "bank",
        "config", "wiring", "serve",
    },
    "__init__": {"bank", "core", "location", "recall", "wiring"},
    "__main__": {"cli"},
    "adapters": {"core", "guard", "recall", "bank"},
    "bus": set(),
}  # fmt: skip
"""A room, and every other room it may know. What is missing here may not be imported."""

IN_THE_CORES_NAME = ("adapters", "bus")
"""Parts of plugins that programs import as `reasoningbank.…`; no room of the core imports them."""

PLUGINS: dict[str, set[str]] = {
    "reasoningbank_bus": {"reasoningbank_server"},
    "reasoningbank_coding_agents": set(),
    "reasoningbank_milvus": set(),
    "reasoningbank_postgres": set(),
    "reasoningbank_qdrant": set(),
    "reasoningbank_server": set(),
}
"""A package of its own beside the core, found by entry points, and every other one it may know. All may know the core."""

OUTSIDE_OF_CORE = {
    "asyncio", "datetime", "glob", "http", "importlib", "io", "logging", "multiprocessing", "os", "pathlib", "random",
    "secrets", "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess", "sys", "tempfile", "time", "urllib", "uuid",
}  # fmt: skip
"""The world: disk, clock, chance, network, environment."""


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted module) of everything that a file imports, wherever in it; relative names are made whole."""
    package = list(path.relative_to(PACKAGE.parent).parent.parts)
    for node in ast.walk(ast.parse(path.read_text("utf-8"), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - node.level + 1]
                module = ".".join([*base, *([node.module] if node.module else [])])
            else:
                module = node.module or ""
            if module == "reasoningbank":
                yield from ((node.lineno, f"reasoningbank.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, module


def test_every_room_is_in_the_table() -> None:
    assert {room_of(path) for path in modules()} <= MAY_IMPORT.keys(), "A new room needs a row in MAY_IMPORT."


def test_the_table_itself_has_no_circle() -> None:
    left = {room: set(others) for room, others in MAY_IMPORT.items()}
    while left:
        free = {room for room, others in left.items() if not others & left.keys()}
        assert free, f"These rooms may import each other in a circle: {sorted(left)}."
        for room in free:
            del left[room]


def test_the_core_imports_no_plugin() -> None:
    broken = [
        f"{path.relative_to(PACKAGE)}:{line} imports {module}: the core finds plugins by entry points (plugins.py)."
        for path in modules()
        if room_of(path) not in IN_THE_CORES_NAME and "reasoningbank_" in path.read_text("utf-8")
        for line, module in imported(path)
        if module.split(".")[0] in PLUGINS
        or module.startswith(tuple(f"reasoningbank.{name}" for name in IN_THE_CORES_NAME))
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_plugin_imports_the_core_and_what_the_table_allows(plugin: str) -> None:
    folder = PACKAGE.parent / plugin
    broken = [
        f"{path.relative_to(folder.parent)}:{line} imports {module}."
        for path in sorted(folder.rglob("*.py"))
        for line, module in imported(path)
        if module.split(".")[0] in PLUGINS.keys() - PLUGINS[plugin] - {plugin}
        or (module.startswith("reasoningbank.") and module.split(".")[1] in IN_THE_CORES_NAME)
    ]
    assert not broken, "\n".join(broken)


def test_every_package_beside_the_core_is_in_the_table() -> None:
    assert {path.parent.name for path in PACKAGE.parent.glob("*/__init__.py")} == {"reasoningbank", *PLUGINS}


def test_nothing_that_is_shipped_knows_the_evaluation() -> None:
    assert not [path for path in PACKAGE.parent.rglob("*.py") if "reasoningbank_eval" in path.read_text("utf-8")]


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_the_table_allows(room: str) -> None:
    broken = []
    for path in modules():
        if room_of(path) != room:
            continue
        for line, module in imported(path):
            if not module.startswith("reasoningbank."):
                continue
            other = module.split(".")[1]
            public = other.startswith("__") or other[0].isupper()
            if other != room and not public and other not in MAY_IMPORT[room]:
                allowed = ", ".join(sorted(MAY_IMPORT[room])) or "nothing of ours"
                broken.append(f"{path.relative_to(PACKAGE)}:{line} imports {other}; {room} may import only: {allowed}.")
    assert not broken, "\n".join(broken)


def test_only_the_wiring_knows_the_backends() -> None:
    for backend in ("store", "index", "embed", "llm"):
        assert {room for room, others in MAY_IMPORT.items() if backend in others} == {"wiring"}


def test_only_a_plugin_knows_the_libraries_of_its_extra() -> None:
    libraries = {
        "msgspec": "bus", "nacl": "bus", "qh3": "bus", "psycopg": "postgres", "qdrant_client": "qdrant",
        "pymilvus": "milvus", "starlette": "server", "uvicorn": "server", "httptools": "server",
    }  # fmt: skip
    broken = [
        f"{path.relative_to(PACKAGE.parent)}:{line} imports {module}; only reasoningbank_{libraries[name]} may."
        for path in sorted(PACKAGE.parent.rglob("*.py"))
        # Looked into only where a word of them stands: parsing every module takes seconds.
        for text in [path.read_text("utf-8")]
        if any(name in text for name in libraries)
        for line, module in imported(path)
        for name in [module.split(".")[0]]
        if name in libraries and path.relative_to(PACKAGE.parent).parts[0] != f"reasoningbank_{libraries[name]}"
    ]
    assert not broken, "\n".join(broken)


def test_the_core_knows_nothing_of_the_world() -> None:
    broken = [
        f"{path.relative_to(PACKAGE)}:{line} imports {module}; the core takes it as an argument instead."
        for path in modules()
        if room_of(path) == "core"
        for line, module in imported(path)
        if module.split(".")[0] in OUTSIDE_OF_CORE
    ]
    assert not broken, "\n".join(broken)


def test_only_the_configuration_reads_the_environment() -> None:
    broken = [
        f"{path.relative_to(PACKAGE)}:{node.lineno} reads the environment; config.py does that."
        for path in modules()
        if room_of(path) not in ("config", "cli")
        for text in [path.read_text("utf-8")]
        # Looked into only where one of the words stands: parsing every module takes seconds.
        if "environ" in text or "getenv" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv")
    ]
    assert not broken, "\n".join(broken)


def test_the_public_names_are_known_and_sorted() -> None:
    assert len(reasoningbank.__all__) <= 25
    assert reasoningbank.__all__ == sorted(reasoningbank.__all__)
    for name in reasoningbank.__all__:
        assert getattr(reasoningbank, name) is not None
    with pytest.raises(AttributeError, match="Colour"):
        _ = reasoningbank.Colour


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, reasoningbank; print(*sys.modules)"
    path = {"PYTHONPATH": str(PACKAGE.parent)}
    out = subprocess.run([sys.executable, "-c", code], env=path, capture_output=True, text=True, check=True).stdout
    heavy = {"numpy", "onnxruntime", "simsimd", "apsw", "sqlite3", "socket", "ssl", "asyncio"} & set(out.split())
    assert not heavy, f"import reasoningbank also loads {', '.join(sorted(heavy))}."


def test_every_module_says_what_it_knows() -> None:
    silent = [
        str(path.relative_to(PACKAGE))
        for path in modules()
        for text in [path.read_text("utf-8")]
        if not text.startswith('"""') and not ast.get_docstring(ast.parse(text))
    ]
    assert not silent, f"Without a docstring: {', '.join(silent)}."
