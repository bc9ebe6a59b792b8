"""Names what a command runs, as a person would: `run_tests.py`, `pytest`, `git push`, `npm run build`.

Programs that only start others are passed over; those that say by their first word what they are to do keep it.
"""

from __future__ import annotations

from reasoningbank.core.commands import commands_in
from reasoningbank.core.patterns import pattern

_RUN_SCRIPTS = frozenset({
    "python", "python2", "python3", "py", "pypy3", "node", "nodejs", "ruby", "php", "perl", "bash", "sh", "zsh",
    "deno", "bun", "tsx", "ts-node", "npx", "bunx", "pnpx", "uvx", "pipx", "java", "lua", "Rscript", "pwsh",
    "powershell",
})  # fmt: skip
_RUN_OTHERS = frozenset({
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("rye", "run"), ("hatch", "run"),
    ("bundle", "exec"), ("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "dlx"), ("npm", "exec"), ("pipx", "run"),
    ("dotnet", "exec"), ("deno", "run"), ("conda", "run"), ("mise", "exec"),
})  # fmt: skip
_HAVE_VERBS = frozenset({
    "git", "npm", "pnpm", "yarn", "bun", "docker", "podman", "cargo", "go", "kubectl", "terraform", "tofu", "make",
    "just", "task", "pip", "pip3", "gh", "glab", "dotnet", "mvn", "mvnw", "gradle", "gradlew", "poetry", "uv", "apt",
    "apt-get", "brew", "aws", "gcloud", "az", "helm", "bundle", "rails", "rake", "composer", "artisan", "manage.py",
    "flutter", "dart", "mix", "sbt", "nx", "turbo", "prisma", "alembic", "systemctl", "conda", "deno", "bazel",
    "swift", "ansible", "vagrant", "docker-compose", "stack", "cabal", "rustup", "nvm", "supabase", "vercel",
    "serverless", "sam", "cdk", "pulumi", "django-admin", "hatch", "nox", "tox",
})  # fmt: skip
_TWO_VERBS = frozenset({
    ("docker", "compose"), ("npm", "run"), ("pnpm", "run"), ("yarn", "run"), ("bun", "run"), ("uv", "pip"),
    ("yarn", "workspace"), ("kubectl", "rollout"), ("gh", "pr"), ("docker", "buildx"),
})  # fmt: skip
_VERB = pattern(r"[A-Za-z][\w:-]*")
_WITH_VALUE = frozenset(
    {"--extra", "--with", "--group", "--package", "--python", "--env-file", "-p", "-n", "-r", "-W", "-X"}
)
LONGEST_PROGRAM_CHARS = 40


def program_of(line: str) -> str:
    """The program that a line runs, in the words that a person would name it by; "" where there is no command."""
    commands = commands_in(line)
    return command_name(commands[0].words) if commands else ""


def command_name(words: tuple[str, ...]) -> str:
    script = _script_in(words)
    if not script:
        return ""
    name = script[0].replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] or script[0]
    if name in _HAVE_VERBS:
        verbs = [word for word in script[1:] if not word.startswith("-")][:2]
        count = 2 if (name, *verbs[:1]) in _TWO_VERBS else 1
        name = " ".join([name, *(verb for verb in verbs[:count] if _VERB.fullmatch(verb))])
    return name[:LONGEST_PROGRAM_CHARS]


def _script_in(words: tuple[str, ...]) -> tuple[str, ...]:
    """From the program on that others only start."""
    while len(words) > 1:
        name = words[0].rsplit("/", 1)[-1]
        if words[:2] in _RUN_OTHERS:
            rest = words[2:]
        elif name in _RUN_SCRIPTS:
            rest = words[1:]
        else:
            break
        while rest and rest[0].startswith("-"):
            if rest[0] in ("-c", "-e", "-"):
                return (name,)
            is_module = rest[0] in ("-m", "-jar")
            rest = rest[2 if rest[0] in _WITH_VALUE else 1 :]
            if is_module:
                break
        if not rest:
            return (name,)
        words = rest
    return words
