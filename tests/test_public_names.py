"""What a program imports from `reasoningbank` itself: the documents show nothing else, and type checkers see it all."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import reasoningbank

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def shown_imports(text: str) -> list[str]:
    return re.findall(r"^\s*(?:from|import) (reasoningbank[\w.]*)", text, re.MULTILINE)


@pytest.mark.parametrize("page", [*PAGES, *EXAMPLES], ids=lambda page: page.name)
def test_documents_and_examples_import_from_the_package_itself_the_bus_or_an_adapter(page: Path) -> None:
    modules = set(shown_imports(page.read_text("utf-8"))) - {"reasoningbank", "reasoningbank.bus"}
    assert not {name for name in modules if not name.startswith("reasoningbank.adapters.")}


def test_type_checkers_see_every_public_name_where_it_comes_from() -> None:
    tree = ast.parse(Path(reasoningbank.__file__).read_text("utf-8"))
    declared = {
        alias.asname: (node.module or "").removeprefix("reasoningbank.")
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert declared == {name: module for module, names in reasoningbank._HOMES.items() for name in names}
    assert declared.keys() == set(reasoningbank.__all__) - {"__version__"}


def test_nothing_of_ours_goes_through_the_public_door() -> None:
    package = Path(reasoningbank.__file__).parent
    through = {
        f"{path.relative_to(package)}: {alias.name}"
        for path in package.rglob("*.py")
        for text in [path.read_text("utf-8")]
        # Parsing every module takes seconds.
        if re.search(r"from\s+reasoningbank\s+import", text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module == "reasoningbank" and not node.level
        for alias in node.names
        if alias.name in reasoningbank.__all__ and alias.name != "__version__"
    }
    assert not through, "These would tie rooms to all others: import from the room itself."
