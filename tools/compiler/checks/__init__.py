"""The numbered rules that a spec must pass; `rules.py` has the table."""
