"""What records mean, whatever back end holds their rows: revisions, what goes with what, trust, tasks, leases."""
