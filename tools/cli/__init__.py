"""The `pawl` command."""
