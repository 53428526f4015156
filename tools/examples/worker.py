"""A worker process: it runs nothing of its own, and goes on with whatever others started, decided or left behind.

    python -m pawl.tools.examples.worker refunds.db

As many as you like may share a store: each open run is owned by one of them, and a dead one's are taken over.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path

from pawl import Event, Runtime
from pawl.tools.examples.agents import Books, support


def tell(event: Event) -> None:
    """Called on the loop with whatever happens to the runs of this process."""
    print(f"{event.execution_id[:6]} {event.kind}", flush=True)


async def main(path: str) -> None:
    """Work until somebody says stop; what is under way then is finished, or left for the next worker."""
    logging.basicConfig(level=logging.WARNING)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    books = Books(Path(path).with_name("payments.db"))
    async with Runtime(f"sqlite:///{path}", agents=[support], deps=books, on_event=tell, poll_interval=0.2):
        print("working", flush=True)
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "refunds.db"))
