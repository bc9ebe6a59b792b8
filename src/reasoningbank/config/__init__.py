"""Where settings come from: arguments over the environment, the environment over files, files over the defaults.

environment   the variables, and where things are kept when nobody says
repository    which project a folder belongs to
clones        what git left in a folder when it fetched from a remote
layers        what each source says, folded into one `core.settings.Settings`
knobs         the table of everything that a file may set; loaded only when there is a file, or to show it
file          a configuration file, checked against that table
pages         the template and docs/configuration.md, written from that table
"""

from reasoningbank.config.environment import (
    VARIABLES,
    Config,
    default_location,
    from_environment,
    home,
    locate,
    named_namespace,
    project_of,
    repository_namespace,
    user_folder,
)
from reasoningbank.config.layers import ARGUMENT, config_files, find_settings
from reasoningbank.config.repository import Project, join_project, remote_namespace, repository_branch

__all__ = [
    "ARGUMENT",
    "VARIABLES",
    "Config",
    "Project",
    "config_files",
    "default_location",
    "find_settings",
    "from_environment",
    "home",
    "join_project",
    "locate",
    "named_namespace",
    "project_of",
    "remote_namespace",
    "repository_branch",
    "repository_namespace",
    "user_folder",
]
