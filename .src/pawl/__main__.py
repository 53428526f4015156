"""`python -m pawl`: the same as the `pawl` command."""

from __future__ import annotations

from pawl.tools.cli.main import main

if __name__ == "__main__":
    main()
