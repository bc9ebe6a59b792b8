"""Proposes what earlier versions took for the user's rules: memories with a tag, or trusted ones about the person.

A tag could be set by anybody, so none of them is in force until the user says so. The memories stay as they are.
"""

from __future__ import annotations

RULE_COLUMNS = ("id", "tenant", "namespace", "text", "state", "heard_in", "created_at", "updated_at", "revision")
HEARD_IN = "memories"
LONGEST_CHARS = 500
OLD_RULES = rf"""
  SELECT 'rle_' || substr(m.id, 5) AS id, m.tenant AS tenant, m.namespace AS namespace, replace(m.content, '
', ' ') AS text, 'proposed' AS state, '{HEARD_IN}' AS heard_in, m.created_at AS created_at, m.updated_at AS updated_at,
    1 AS revision
  FROM memories m LEFT JOIN trust t ON t.tenant = m.tenant AND t.memory_id = m.id
  WHERE m.state = 'active' AND m.id LIKE 'mem!_%' ESCAPE '!' AND length(m.content) <= {LONGEST_CHARS}
    AND ((m.tags LIKE '%"preference"%' AND coalesce(t.level, 2) >= 1)
      OR (m.namespace = 'user' AND coalesce(t.level, 2) = 2))"""
"""Rows of rules without their hash, in the order of `RULE_COLUMNS`. The same in SQLite and PostgreSQL."""
