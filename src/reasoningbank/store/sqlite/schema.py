"""The numbered migrations of a SQLite bank, and the tables of an empty one.

Each migration is a list of statements that run in one transaction together with
the version number, so a kill between any two of them leaves the bank as it was. Never edit a migration that has
been released; add the next one.
"""

from __future__ import annotations

from reasoningbank.store.old_rules import OLD_RULES, RULE_COLUMNS

APPLICATION_ID = 0x52424E4B  # "RBNK", so that a foreign SQLite file is recognised before it is touched

_MEMORY_COLUMNS = """
  tenant TEXT NOT NULL,
  namespace TEXT NOT NULL,
  scope TEXT NOT NULL,
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  content TEXT NOT NULL,
  outcome TEXT NOT NULL,
  key TEXT,
  tags TEXT NOT NULL,
  agent TEXT,
  task_type TEXT,
  cognitive_pattern TEXT,
  origin TEXT NOT NULL,
  parents TEXT NOT NULL,
  source TEXT,
  metadata TEXT NOT NULL,
  initial_confidence REAL NOT NULL,
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL,
  revision INTEGER NOT NULL,
  state TEXT NOT NULL,
  hash BLOB NOT NULL
"""

_SESSION_COLUMNS = """
  tenant TEXT NOT NULL,
  namespace TEXT NOT NULL,
  task TEXT NOT NULL,
  agent TEXT,
  outcome TEXT,
  metadata TEXT NOT NULL,
  started_at REAL NOT NULL,
  ended_at REAL,
  hash BLOB NOT NULL"""
_EDGE_COLUMNS = """
  tenant TEXT NOT NULL,
  source_id TEXT NOT NULL,
  target_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  weight REAL NOT NULL,
  tags TEXT NOT NULL,
  evidence TEXT NOT NULL,
  created_at REAL NOT NULL,
  hash BLOB NOT NULL"""

_FIRST = (
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE feed (
  seq INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  op TEXT NOT NULL,
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  at REAL NOT NULL)""",
    f"CREATE TABLE memories (num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,{_MEMORY_COLUMNS})",
    # The state is in it so that counting and listing by state need not read the memories themselves.
    "CREATE INDEX memories_by_namespace ON memories (tenant, namespace, id, state)",
    """CREATE UNIQUE INDEX memories_by_key ON memories (tenant, namespace, key)
  WHERE key IS NOT NULL AND state IN ('active', 'quarantined')""",
    f"CREATE TABLE revisions (num INTEGER PRIMARY KEY, id TEXT NOT NULL,{_MEMORY_COLUMNS}, UNIQUE (id, revision))",
    """CREATE TABLE signals (
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  positive INTEGER NOT NULL,
  weight REAL NOT NULL,
  used INTEGER NOT NULL,
  source TEXT NOT NULL,
  trajectory_id TEXT,
  comment TEXT NOT NULL,
  at REAL NOT NULL,
  hash BLOB NOT NULL)""",
    "CREATE INDEX signals_by_memory ON signals (memory_id)",
    f"""CREATE TABLE trajectories (
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,{_SESSION_COLUMNS})""",
    """CREATE TABLE steps (
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  trajectory_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  action TEXT NOT NULL,
  result TEXT NOT NULL,
  metadata TEXT NOT NULL,
  at REAL NOT NULL,
  hash BLOB NOT NULL,
  UNIQUE (trajectory_id, number))""",
    f"""CREATE TABLE edges (
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,{_EDGE_COLUMNS},
  UNIQUE (tenant, source_id, target_id, kind))""",
    "CREATE INDEX edges_by_target ON edges (target_id)",
    """CREATE TABLE vectors (
  num INTEGER PRIMARY KEY,
  memory_id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  identity TEXT NOT NULL,
  facet TEXT NOT NULL,
  vector BLOB NOT NULL,
  UNIQUE (memory_id, identity, facet))""",
    """CREATE TABLE exposures (
  num INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  trajectory_id TEXT,
  query_hash TEXT NOT NULL,
  rank INTEGER NOT NULL,
  at REAL NOT NULL)""",
    "CREATE INDEX exposures_by_memory ON exposures (memory_id)",
    "CREATE INDEX exposures_by_trajectory ON exposures (trajectory_id) WHERE trajectory_id IS NOT NULL",
    """CREATE TABLE tombstones (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  kind TEXT NOT NULL,
  at REAL NOT NULL) WITHOUT ROWID""",
)

_GAPS = (
    """CREATE TABLE gaps (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  namespace TEXT NOT NULL,
  question TEXT NOT NULL,
  times INTEGER NOT NULL,
  first_at REAL NOT NULL,
  last_at REAL NOT NULL) WITHOUT ROWID""",
    "CREATE INDEX gaps_by_tenant ON gaps (tenant, last_at)",
)

_ACCESS = (
    """CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  origin TEXT NOT NULL,
  digest BLOB NOT NULL,
  created_at REAL NOT NULL,
  expires_at REAL,
  revoked_at REAL) WITHOUT ROWID""",
    """CREATE TABLE replies (
  tenant TEXT NOT NULL,
  caller TEXT NOT NULL,
  key TEXT NOT NULL,
  request BLOB NOT NULL,
  status INTEGER NOT NULL,
  etag TEXT NOT NULL,
  body BLOB NOT NULL,
  at REAL NOT NULL,
  UNIQUE (tenant, caller, key))""",
    "CREATE INDEX replies_by_age ON replies (at)",
)

_TRUST = (
    """CREATE TABLE rulings (
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  kind TEXT NOT NULL,
  target TEXT NOT NULL,
  memories TEXT NOT NULL,
  source TEXT NOT NULL,
  comment TEXT NOT NULL,
  at REAL NOT NULL,
  hash BLOB NOT NULL)""",
    "CREATE INDEX rulings_by_target ON rulings (tenant, target)",
    # Views of origins, parents and rulings. A memory of the user without parents has no row: it is trusted.
    """CREATE TABLE trust (
  tenant TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  level INTEGER NOT NULL,
  PRIMARY KEY (tenant, memory_id)) WITHOUT ROWID""",
    """CREATE TABLE kin (
  tenant TEXT NOT NULL,
  parent_id TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  PRIMARY KEY (tenant, parent_id, memory_id)) WITHOUT ROWID""",
    """CREATE TABLE marks (
  tenant TEXT NOT NULL,
  mark INTEGER NOT NULL,
  memory_id TEXT NOT NULL,
  PRIMARY KEY (tenant, mark, memory_id)) WITHOUT ROWID""",
    "CREATE INDEX marks_by_memory ON marks (tenant, memory_id)",
    "INSERT OR IGNORE INTO kin SELECT m.tenant, p.value, m.id FROM memories m, json_each(m.parents) p",
    # First the untrusted and all that descends from them, then whatever else is not the user's own.
    """INSERT INTO trust
  WITH RECURSIVE low (tenant, id) AS (
    SELECT tenant, id FROM memories
      WHERE NOT (origin IN ('user', 'agent') OR origin LIKE 'user:%' OR origin LIKE 'agent:%')
    UNION
    SELECT kin.tenant, kin.memory_id FROM low JOIN kin ON kin.tenant = low.tenant AND kin.parent_id = low.id)
  SELECT tenant, id, 0 FROM low""",
    """INSERT OR IGNORE INTO trust
  SELECT tenant, id, 1 FROM memories WHERE origin LIKE 'agent%' OR parents != '[]'""",
)

_JOBS = (
    """CREATE TABLE jobs (
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  namespace TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  error TEXT NOT NULL,
  results TEXT NOT NULL,
  metadata TEXT NOT NULL,
  created_at REAL NOT NULL,
  ended_at REAL,
  hash BLOB NOT NULL)""",
    "CREATE INDEX jobs_by_state ON jobs (tenant, state, id)",
    "CREATE INDEX jobs_by_subject ON jobs (subject)",
    """CREATE TABLE spending (
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  day TEXT NOT NULL,
  model TEXT NOT NULL,
  purpose TEXT NOT NULL,
  calls INTEGER NOT NULL,
  tokens_in INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL,
  reserved INTEGER NOT NULL,
  hash BLOB NOT NULL)""",
    "CREATE INDEX spending_by_day ON spending (tenant, day)",
    """CREATE TABLE leases (
  job_id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  owner TEXT,
  beat INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  ready_at REAL NOT NULL,
  error TEXT NOT NULL) WITHOUT ROWID""",
    "CREATE INDEX leases_free ON leases (tenant, ready_at) WHERE owner IS NULL",
    "CREATE INDEX leases_held ON leases (tenant, job_id) WHERE owner IS NOT NULL",
)

# From a task to what was learned in it and to what it proved.
_BY_TASK = (
    "CREATE INDEX memories_by_source ON memories (tenant, source) WHERE source IS NOT NULL",
    "CREATE INDEX signals_by_trajectory ON signals (tenant, trajectory_id) WHERE trajectory_id IS NOT NULL",
)

# What was withheld on purpose, and a view of the sessions that ended well or badly, by the kind of their task. The form
# of a task is not known to SQL: sessions from before this migration count for their namespace only.
_CREDIT = (
    "ALTER TABLE exposures ADD COLUMN withheld INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE exposures ADD COLUMN holdout REAL NOT NULL DEFAULT 0",
    """CREATE TABLE tasks (
  trajectory_id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  namespace TEXT NOT NULL,
  kind TEXT NOT NULL,
  succeeded INTEGER NOT NULL,
  ended_at REAL NOT NULL) WITHOUT ROWID""",
    "CREATE INDEX tasks_by_kind ON tasks (tenant, namespace, kind, ended_at, succeeded)",
    "CREATE INDEX tasks_by_namespace ON tasks (tenant, namespace, ended_at, succeeded)",
    "CREATE INDEX tasks_by_tenant ON tasks (tenant, ended_at, succeeded)",
    """INSERT INTO tasks
  SELECT id, tenant, namespace, '', outcome = 'success', ended_at FROM trajectories
    WHERE outcome IN ('success', 'failure') AND ended_at IS NOT NULL""",
)

_CONSOLIDATIONS = (
    """CREATE TABLE consolidations (
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  run TEXT NOT NULL,
  kind TEXT NOT NULL,
  namespace TEXT NOT NULL,
  changes TEXT NOT NULL,
  source TEXT NOT NULL,
  at REAL NOT NULL,
  hash BLOB NOT NULL)""",
    "CREATE INDEX consolidations_by_run ON consolidations (tenant, run)",
    # A memory that loses a parent again is found under it no more.
    "CREATE INDEX kin_by_memory ON kin (tenant, memory_id)",
)

# A mark and the number of its memory, in one tree; before, two trees held the whole id beside each mark.
_SHORT_MARKS = (
    "ALTER TABLE marks RENAME TO long_marks",
    """CREATE TABLE marks (
  mark INTEGER NOT NULL,
  memory INTEGER NOT NULL,
  PRIMARY KEY (mark, memory)) WITHOUT ROWID""",
    """INSERT OR IGNORE INTO marks
  SELECT long.mark, memories.num FROM long_marks long JOIN memories ON memories.id = long.memory_id ORDER BY 1""",
    "DROP TABLE long_marks",
)

# What a memory advised when it was judged or shown; and an index of what the user said against memories, for searches.
_ADVICE = (
    *(
        f"ALTER TABLE {table} ADD COLUMN advice_id TEXT NOT NULL DEFAULT ''"
        for table in ("memories", "revisions", "signals", "exposures")
    ),
    """CREATE INDEX signals_against ON signals (memory_id, source, at)
  WHERE kind = 'feedback' AND positive = 0""",
)

_TEAMS = (
    """CREATE TABLE memberships (
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  namespace TEXT NOT NULL,
  team TEXT,
  source TEXT NOT NULL,
  at REAL NOT NULL,
  hash BLOB NOT NULL)""",
    "CREATE INDEX memberships_by_namespace ON memberships (tenant, namespace)",
    # Few memories are for more than their own project, and a hook must know at once whether there is any.
    """CREATE INDEX memories_shared ON memories (tenant, scope, state)
  WHERE scope IN ('org', 'team') AND state IN ('active')""",
)

# Newest first is by the moment a record was made: the ids of imports and of captured sessions are hashes. Each index
# holds all that such a list asks for, so that the rows themselves are read for one page only.
_BY_MOMENT = (
    "CREATE INDEX memories_by_moment ON memories (tenant, namespace, created_at, id, state)",
    "CREATE INDEX memories_of_all_by_moment ON memories (tenant, created_at, id, state)",
    "CREATE INDEX trajectories_by_moment ON trajectories (tenant, namespace, started_at, id)",
    "CREATE INDEX signals_by_moment ON signals (tenant, at, id)",
    "CREATE INDEX jobs_by_moment ON jobs (tenant, created_at, id, state)",
)

# One row on a page of its own: see `store.sqlite.stamps`.
_STAMP = ("CREATE TABLE stamp (id INTEGER PRIMARY KEY, mark BLOB NOT NULL)",)

# A row of a token says what it may do: one that was altered by another hand is known by its hash, and refused.
_TOKEN_HASHES = (
    "ALTER TABLE tokens ADD COLUMN hash BLOB",
    """UPDATE tokens SET hash =
  token_hash(id, tenant, name, scopes, origin, digest, created_at, expires_at, revoked_at)""",
)

# Sessions and edges keep what they said before, as memories do. While the new column is 1, a row's hash is without it.
_REVISIONS = (
    "ALTER TABLE trajectories ADD COLUMN revision INTEGER NOT NULL DEFAULT 1",
    "ALTER TABLE edges ADD COLUMN revision INTEGER NOT NULL DEFAULT 1",
    f"""CREATE TABLE trajectory_revisions (
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL,{_SESSION_COLUMNS},
  revision INTEGER NOT NULL DEFAULT 1,
  UNIQUE (id, revision))""",
    f"""CREATE TABLE edge_revisions (
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL,{_EDGE_COLUMNS},
  revision INTEGER NOT NULL DEFAULT 1,
  UNIQUE (id, revision))""",
)

_NODE_COLUMNS = """
  tenant TEXT NOT NULL,
  namespace TEXT NOT NULL,
  label TEXT NOT NULL,
  name TEXT NOT NULL,
  conv_id TEXT NOT NULL,
  text TEXT NOT NULL,
  tags TEXT NOT NULL,
  fields TEXT NOT NULL,
  start_at REAL,
  end_at REAL,
  origin TEXT NOT NULL,
  source TEXT,
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL,
  revision INTEGER NOT NULL,
  hash BLOB NOT NULL"""

# Nodes of the memory graph. Edges get names of their callers, by which several of a kind may join the same two ends:
# what is unique of them changes, so their table is made anew.
_NODES = (
    f"""CREATE TABLE nodes (
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,{_NODE_COLUMNS},
  UNIQUE (tenant, namespace, name))""",
    "CREATE INDEX nodes_by_conversation ON nodes (tenant, conv_id, created_at, id)",
    "CREATE INDEX nodes_by_label ON nodes (tenant, label, created_at, id)",
    "CREATE INDEX nodes_by_moment ON nodes (tenant, namespace, created_at, id)",
    "CREATE INDEX nodes_by_window ON nodes (tenant, start_at, end_at) WHERE start_at IS NOT NULL",
    f"CREATE TABLE node_revisions (num INTEGER PRIMARY KEY, id TEXT NOT NULL,{_NODE_COLUMNS}, UNIQUE (id, revision))",
    "ALTER TABLE edges RENAME TO nameless_edges",
    "DROP INDEX edges_by_target",
    f"""CREATE TABLE edges (
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,{_EDGE_COLUMNS},
  revision INTEGER NOT NULL DEFAULT 1,
  name TEXT NOT NULL DEFAULT '',
  origin TEXT NOT NULL DEFAULT '',
  UNIQUE (tenant, source_id, target_id, kind, name))""",
    "INSERT INTO edges SELECT *, '', '' FROM nameless_edges",
    "DROP TABLE nameless_edges",
    "CREATE INDEX edges_from ON edges (tenant, source_id, weight)",
    "CREATE INDEX edges_to ON edges (tenant, target_id, weight)",
    "CREATE INDEX edges_by_name ON edges (tenant, name)",
    "ALTER TABLE edge_revisions ADD COLUMN name TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE edge_revisions ADD COLUMN origin TEXT NOT NULL DEFAULT ''",
)

# Who lived through a session: rows from before say it in their metadata, which anybody could write. And the workers
# that a job lost, which say nothing against it.
_SESSION_ORIGINS = (
    "ALTER TABLE trajectories ADD COLUMN origin TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE trajectory_revisions ADD COLUMN origin TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE leases ADD COLUMN lost INTEGER NOT NULL DEFAULT 0",
)

# The user's rules are records of their own. What earlier versions took for rules is proposed; its hash needs Python.
_RULE_NAMES = ", ".join(RULE_COLUMNS)
_RULES = (
    """CREATE TABLE rules (
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  namespace TEXT NOT NULL,
  text TEXT NOT NULL,
  state TEXT NOT NULL,
  heard_in TEXT NOT NULL,
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL,
  revision INTEGER NOT NULL,
  hash BLOB NOT NULL)""",
    "CREATE INDEX rules_by_state ON rules (tenant, state, namespace)",
    f"INSERT INTO rules ({_RULE_NAMES}, hash) SELECT *, content_hash({_RULE_NAMES}) FROM ({OLD_RULES})",
    "INSERT INTO feed (kind, op, id, tenant, at) SELECT 'rule', 'add', id, tenant, updated_at FROM rules ORDER BY num",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    _FIRST, _GAPS, _ACCESS, _TRUST, _JOBS, _BY_TASK, _CREDIT, _CONSOLIDATIONS, _SHORT_MARKS, _ADVICE, _TEAMS,
    _BY_MOMENT, _STAMP, _TOKEN_HASHES, _REVISIONS, _NODES, _SESSION_ORIGINS,
    _RULES,
)  # fmt: skip
SCHEMA_VERSION = len(MIGRATIONS)


def fresh_schema() -> list[str]:
    """Statements that make the tables of an empty bank, from `store.tables`: what all migrations together do."""
    from reasoningbank.store.sqlite.ddl import create
    from reasoningbank.store.tables import TABLES

    return [*_STAMP, *(statement for table in TABLES for statement in create(table))]


STAMPED_SINCE = 13
"""The first version whose banks carry a stamp."""
