"""`join`: the user says to which project a folder belongs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from reasoningbank.cli import plain
from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.speaker import check_is_user
from reasoningbank.cli.terminal import Terminal
from reasoningbank.config import Project, home, join_project, named_namespace, project_of
from reasoningbank.core.drafts import clean_namespace
from reasoningbank.core.errors import InvalidInput


def doubt_of(args: Namespace) -> str | None:
    """The sentence for a person whose folder claims a project that nothing speaks for; None without a doubt."""
    project = Project(namespace="") if args.namespace or named_namespace() else project_of()
    if not project.is_doubtful or project.remote is None:
        return None
    return (
        f"this folder says that it is a clone of {plain.one_line(project.remote)}, and nothing here shows that git "
        f"made it one: its memories are its own ({plain.one_line(project.namespace)}); `{PROGRAM} join` if it is yours"
    )


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("project", metavar="NAMESPACE", nargs="?", help="which project (default: what its remote says)")


def _run(args: Namespace, terminal: Terminal) -> int:
    check_is_user("join a folder to a project")
    project = project_of()
    if project.place is None:
        raise InvalidInput("There is no git repository around this folder: --namespace NAME names a project anywhere.")
    namespace = args.project or project.remote or project.namespace
    join_project(project, clean_namespace(namespace), home())
    folder = str(project.place.parent if project.place.name == ".git" else project.place)
    if terminal.as_json:
        terminal.json({"folder": folder, "namespace": namespace, "before": project.namespace})
    else:
        terminal.result(namespace, f"{folder} belongs to it; it was {project.namespace}")
    return 0


COMMANDS = {
    "join": Command(
        run=_run,
        options=_options,
        about="A clone that git made on this machine shares the memories of its project by itself. A folder that came "
        "another way (unpacked, copied, a bare or mirrored clone) has memories of its own until it is joined: it could "
        "name any project in its configuration. Joining it to the name that it had takes that back.",
    )
}
