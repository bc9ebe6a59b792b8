"""Not in the everyday run: the clients are 700 MB of other people's programs, and a scenario takes up to a minute."""

from __future__ import annotations


def pytest_collection_modifyitems(config, items):
    if "clients" in config.getoption("markexpr"):
        return
    chosen = [item for item in items if item.get_closest_marker("clients") is None]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen
