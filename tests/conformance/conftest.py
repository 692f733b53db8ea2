"""What lies in `frameworks` runs in the environment of its framework alone: see `environments`."""

collect_ignore = ["frameworks"]
