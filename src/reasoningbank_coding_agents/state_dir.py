"""The folder of a bank's state where hooks keep what they must know of a session; small and private.

    bank.db.hooks/
      sessions/NAME.log      what a session was shown and asked, a line each
      cursors/NAME.json      how far its transcript was read
      heard/NAME.jsonl       the session as its hooks told it, where the agent's own transcript does not tell enough
      notes/NAME.json        a session to be read, written before the agent goes on
      troubles/NAME.json     known failures of a namespace, a view of the records
      rules/NAME.json        the rules that hold in a namespace, another
      unmarked/NAME-*.json   rules of a prompt that its agent has not yet marked as typed
      proposed-rules.json    which proposals the user was shown, and under which number
      asked-jobs.json        the jobs that an agent was asked to distil
      moved-told             where the bank was moved to, once the user was told
      work.lock              held by the one process that reads
      warm-PID.sock          a running server that answers for us
      warm.lock              held by the helper, which is such a server and nothing else

Losing the folder loses no memory: transcripts are read again, and what was kept is known by its ids.
"""

from __future__ import annotations

from pathlib import Path

from reasoningbank.core.digest import blake2b
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.files import make_private_folder, sync_folder, whole_file
from reasoningbank.location import Location

HOOKS = "hooks"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDir:
    folder: Path

    def session_log(self, agent: str, session: str) -> Path:
        return self.folder / "sessions" / f"{name_of(agent, session)}.log"

    def cursor(self, agent: str, session: str) -> Path:
        return self.folder / "cursors" / f"{name_of(agent, session)}.json"

    def heard(self, agent: str, session: str) -> Path:
        return self.folder / "heard" / f"{name_of(agent, session)}.jsonl"

    def note(self, agent: str, session: str) -> Path:
        return self.folder / "notes" / f"{name_of(agent, session)}.json"

    def troubles(self, namespace: str) -> Path:
        return self.folder / "troubles" / f"{name_of(namespace)}.json"

    def rules(self, namespace: str) -> Path:
        return self.folder / "rules" / f"{name_of(namespace)}.json"

    def unmarked(self, agent: str, session: str, prompt_id: str) -> Path:
        return self.folder / "unmarked" / f"{name_of(agent, session)}-{name_of(prompt_id)}.json"

    def every_unmarked(self, agent: str = "", session: str = "") -> list[Path]:
        """The files of prompts that wait for their mark, of one session if it is named."""
        folder = self.folder / "unmarked"
        return sorted(folder.glob(f"{name_of(agent, session)}-*" if session else "*-*")) if folder.is_dir() else []

    @property
    def proposed_rules(self) -> Path:
        return self.folder / "proposed-rules.json"

    def warm_socket(self, process: int) -> Path:
        return self.folder / f"warm-{process}.sock"

    @property
    def work_lock(self) -> Path:
        return self.folder / "work.lock"

    @property
    def helper_lock(self) -> Path:
        return self.folder / "warm.lock"


def place_of(bank: Location) -> StateDir:
    folder = bank.folder(HOOKS)
    if folder is None:
        raise InvalidInput("A bank in memory is gone with its process: of sessions nothing can be kept for it.")
    return StateDir(folder=folder)


def name_of(*parts: str) -> str:
    """A file's name for whatever an agent calls its session."""
    return blake2b("\n".join(parts).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def make_room(path: Path) -> None:
    """Make the folder of a file, for this user only."""
    make_private_folder(path.parent)


def write_whole(path: Path, text: str, *, durable: bool = False) -> None:
    """The new text or the old one, never half of it; `durable` outlives a power loss."""
    make_room(path)
    with whole_file(path, durable=durable) as file:
        file.write(text.encode("utf-8"))
    if durable:
        # The names of the folders too: whoever made them need not have synced them.
        for named_in in path.parents[:3]:
            sync_folder(named_in)
