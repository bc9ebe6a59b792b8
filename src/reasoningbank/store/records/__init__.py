"""Rules of records, whatever back end holds their rows: revisions, cascades, trust, tasks, leases."""
