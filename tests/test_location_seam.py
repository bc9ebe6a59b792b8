"""Only the SQLite store, the wiring and `location` know that a bank may be a file: everybody else asks."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import reasoningbank

SOURCE = Path(reasoningbank.__file__).parent.parent
MAY_KNOW = ("reasoningbank/store/sqlite", "reasoningbank/wiring", "reasoningbank/location.py")
PLACES = {"location", "_location", "url", "absolute_url", "bank_path", "default_location", "locate", "location_of"}
"""What a place of a bank is called, and what gives one."""
ASKED = {"state", "folder", "path_of", "shared_path", "scheme", "name", "files"}
"""What a place answers: whoever has that may go on with it."""
STARTS = ("bank.db", "sqlite:")
WORDS = re.compile("|".join([*PLACES, r"args\s*\.\s*bank", *STARTS]))
"""One of them stands in every file that breaks the rule: the others need not be parsed, which takes seconds."""
OF_FILES = {"Path", "PurePath", "open"}
MODULES_OF_FILES = {"os", "path", "shutil", "sqlite3", "apsw", "io"}


def is_place(node: ast.AST) -> bool:
    """Whether an expression holds the place of a bank itself, not an answer of it."""
    if isinstance(node, ast.Attribute):
        if node.attr in ASKED:
            return False
        return node.attr in PLACES or (
            node.attr == "bank" and isinstance(node.value, ast.Name) and node.value.id == "args"
        )
    if isinstance(node, ast.Name):
        return node.id in PLACES
    if isinstance(node, ast.Call):
        asks = isinstance(node.func, ast.Attribute) and node.func.attr in ASKED
        return not asks and any(map(is_place, (node.func, *node.args)))
    return any(map(is_place, ast.iter_child_nodes(node)))


def is_about_files(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in OF_FILES
    if not isinstance(function, ast.Attribute):
        return False
    of = function.value
    return (of.attr if isinstance(of, ast.Attribute) else getattr(of, "id", "")) in MODULES_OF_FILES


def makes_path(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return is_about_files(node.func) and any(map(is_place, node.args))
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add | ast.Div) and is_place(node.left)
    return isinstance(node, ast.Constant) and str(node.value).startswith(STARTS)


def path_building(tree: ast.AST) -> list[int]:
    """The lines where a path is made of the place of a bank."""
    return sorted(node.lineno for node in ast.walk(tree) if makes_path(node))


def test_no_room_makes_a_path_of_the_place_of_a_bank() -> None:
    broken = [
        f"{path.relative_to(SOURCE)}:{line} makes a path of the place of a bank: ask `location` or the store instead."
        for path in sorted(SOURCE.rglob("*.py"))
        if not str(path.relative_to(SOURCE)).startswith(MAY_KNOW)
        for text in [path.read_text("utf-8")]
        if WORDS.search(text)
        for line in path_building(ast.parse(text))
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    "line",
    [
        "Path(location).exists()",
        "Path(found.location)",
        "Path(f'{self._location}.hooks')",
        "Path(str(store.info.location))",
        "Path(args.bank)",
        "os.path.join(location.url, 'x')",
        "folder = location + '.hooks'",
        "locate(args.bank) / 'index'",
        "open(location_of(args))",
        "name = 'bank.db.index'",
    ],
)
def test_the_rule_sees_a_path_that_is_made_of_a_place(line: str) -> None:
    assert path_building(ast.parse(line))


@pytest.mark.parametrize(
    "line",
    [
        "location.state / 'x'",
        "Path(location.folder('index'))",
        "locate(Path(bank))",
        "str(location)",
        "b.exists(location)",
    ],
)
def test_the_rule_lets_whoever_asked_go_on(line: str) -> None:
    assert not path_building(ast.parse(line))
