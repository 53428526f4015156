"""What the demo's processes tell whoever started them: one JSON object a line."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

PART = "PAWL_DEMO_PART"
"""Set in the demo's own processes; the agent of the demo run by hand has nobody to tell."""

_lock = threading.Lock()


def tell(what: str, **facts: Any) -> None:
    """Say what has happened, from any thread."""
    if PART not in os.environ:
        return
    with _lock:
        sys.stdout.write(json.dumps({"what": what, "pid": os.getpid()} | facts) + "\n")
        sys.stdout.flush()


def append(path: Path, **facts: Any) -> None:
    """Add a line to a file that outlives this process, however it ends."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(facts) + "\n")


def end_with_parent() -> None:
    """End this process when the one that started it is gone: nobody would wait for it any more."""

    def wait() -> None:
        while os.read(0, 4096):  # not sys.stdin: its lock, held here, would be in the way of a normal end
            pass
        os._exit(1)

    threading.Thread(target=wait, name="parent", daemon=True).start()
