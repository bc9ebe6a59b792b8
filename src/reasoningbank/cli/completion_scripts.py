"""Shell completion scripts for bash, zsh and fish: commands, options, and the values of those that have a fixed set.

Written out in full, so that pressing Tab starts no Python.
"""

from __future__ import annotations

from collections.abc import Iterator

from reasoningbank.cli.command import PROGRAM, VALUED_GLOBALS
from reasoningbank.cli.shape import Argument, CommandShape, global_arguments, shapes
from reasoningbank.cli.table import COMMANDS, families

ALIAS = "rbank"


def script(shell: str) -> str:
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def _first_words() -> list[str]:
    return list(dict.fromkeys(name.partition(" ")[0] for name in COMMANDS))


def _words(shape: CommandShape) -> list[str]:
    """The words that may follow a command: its options, and the values of its positional arguments."""
    arguments = (*shape.arguments, *global_arguments())
    values = [choice for argument in arguments if argument.positional for choice in argument.choices]
    if shape.name == "help":
        values += _first_words()
    return [*values, *(flag for argument in arguments for flag in argument.flags), "--help"]


def _after_first() -> Iterator[tuple[str, list[str]]]:
    """The words that may follow the first word of a family; one that is a command by itself has options, too."""
    alone = {shape.name: _words(shape) for shape in shapes() if shape.name in families()}
    for first, words in families().items():
        yield first, [*words, *alone.get(first, ())]


def _options_with_values() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(command, flag, values) for every option that has a fixed set."""
    for shape in shapes():
        for argument in shape.arguments:
            if argument.choices:
                for flag in argument.flags:
                    yield shape.name, flag, argument.choices


def _bash() -> str:
    values = "\n".join(
        f'    "{name}:{flag}") COMPREPLY=($(compgen -W "{" ".join(choices)}" -- "$cur")); return ;;'
        for name, flag, choices in _options_with_values()
    )
    after = "\n".join(f'    "{shape.name}") offered="{" ".join(_words(shape))}" ;;' for shape in shapes())
    second = "\n".join(f'    "{first} ") offered="{" ".join(words)}" ;;' for first, words in _after_first())
    return f"""# {PROGRAM} completion for bash. Load it with: source <({PROGRAM} completion bash)
_{PROGRAM}() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}"
  local first="" second="" name="" offered="" word="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${{COMP_WORDS[i]}}"
    case "$word" in
      {"|".join(VALUED_GLOBALS)}) ((i++)) ;;
      -*) ;;
      *) if [[ -z "$first" ]]; then first="$word"; elif [[ -z "$second" ]]; then second="$word"; fi ;;
    esac
  done
  name="$first"
  case "$first" in {"|".join(families())}) name="$first $second" ;; esac
  case "$prev" in --bank) COMPREPLY=($(compgen -f -- "$cur")); return ;; esac
  case "$name:$prev" in
{values}
  esac
  case "$name" in
    "") offered="{" ".join([*_first_words(), *_global_flags(), "--version", "--help"])}" ;;
{second}
{after}
  esac
  COMPREPLY=($(compgen -W "$offered" -- "$cur"))
}}
complete -o default -F _{PROGRAM} {PROGRAM} {ALIAS}
"""


def _global_flags() -> list[str]:
    return [flag for argument in global_arguments() for flag in argument.flags]


def _zsh() -> str:
    values = "\n".join(
        f'    ("{name}:{flag}") compadd -- {" ".join(choices)}; return ;;'
        for name, flag, choices in _options_with_values()
    )
    after = "\n".join(f'    ("{shape.name}") compadd -- {" ".join(_words(shape))}; _files ;;' for shape in shapes())
    second = "\n".join(f'    ("{first} ") compadd -- {" ".join(words)} ;;' for first, words in _after_first())
    return f"""#compdef {PROGRAM} {ALIAS}
# {PROGRAM} completion for zsh. Load it with: source <({PROGRAM} completion zsh)
_{PROGRAM}() {{
  local first="" second="" name="" word="" prev="${{words[CURRENT-1]}}"
  integer i
  for ((i = 2; i < CURRENT; i++)); do
    word="${{words[i]}}"
    case "$word" in
      ({"|".join(VALUED_GLOBALS)}) ((i++)) ;;
      (-*) ;;
      (*) if [[ -z "$first" ]]; then first="$word"; elif [[ -z "$second" ]]; then second="$word"; fi ;;
    esac
  done
  name="$first"
  case "$first" in ({"|".join(families())}) name="$first $second" ;; esac
  case "$prev" in (--bank) _files; return ;; esac
  case "$name:$prev" in
{values}
  esac
  case "$name" in
    ("") compadd -- {" ".join([*_first_words(), *_global_flags(), "--version", "--help"])} ;;
{second}
{after}
  esac
}}
compdef _{PROGRAM} {PROGRAM} {ALIAS}
"""


def _fish() -> str:
    lines = [
        f"# {PROGRAM} completion for fish. Load it with: {PROGRAM} completion fish | source",
        f"complete -c {PROGRAM} -n __fish_use_subcommand -l version -d 'show the version'",
    ]
    lines.extend(_fish_option("", argument) for argument in global_arguments())
    for first in _first_words():
        summary = COMMANDS[first].summary if first in COMMANDS else f"{', '.join(families()[first])}"
        lines.append(f"complete -c {PROGRAM} -n __fish_use_subcommand -f -a {first} -d {_quote(summary)}")
    family_names = " ".join(families())
    for first, words in families().items():
        guard = f"__fish_seen_subcommand_from {first}; and not __fish_seen_subcommand_from {' '.join(words)}"
        lines.append(f"complete -c {PROGRAM} -n {_quote(guard)} -f -a {_quote(' '.join(words))}")
    for shape in shapes():
        first, _, second = shape.name.partition(" ")
        condition = f"__fish_seen_subcommand_from {first}; and "
        condition += (
            f"__fish_seen_subcommand_from {second}" if second else f"not __fish_seen_subcommand_from {family_names}"
        )
        lines.extend(
            _fish_option(condition, argument)
            for argument in shape.arguments
            if argument.choices or not argument.positional
        )
    lines.append(f"complete -c {ALIAS} -w {PROGRAM}")
    return "\n".join(lines) + "\n"


def _fish_option(condition: str, argument: Argument) -> str:
    parts = [f"complete -c {PROGRAM}"]
    if condition:
        parts.append(f"-n {_quote(condition)}")
    parts += [f"-l {flag.removeprefix('--')}" for flag in argument.flags]
    if argument.choices:
        parts.append(f"{'-f' if argument.positional else '-x'} -a {_quote(' '.join(argument.choices))}")
    elif argument.metavar:
        parts.append("-r")
    if argument.help:
        parts.append(f"-d {_quote(argument.help)}")
    return " ".join(parts)


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
