"""The libraries that are measured, in the versions that the programs here were written for."""

from __future__ import annotations

from typing import Final

import attrs


@attrs.frozen
class Peer:
    """A library: what to install, what to import, and how it makes an agent's run durable ("" where it does not)."""

    name: str
    packages: tuple[str, ...]
    imports: str
    durable: str = ""


PEERS: Final = (
    Peer(
        "LangGraph",
        ("langgraph==1.2.24", "langgraph-checkpoint-sqlite==3.1.2", "aiosqlite==0.22.1"),
        "import langgraph.graph, langgraph.checkpoint.sqlite",
        'SQLite checkpointers, durability="sync": the whole state after each node, in two commits',
    ),
    Peer(
        "DBOS",
        ("dbos==3.4.0", "pysqlite3==0.6.1"),
        "import dbos",
        "SQLite system database, rollback journal: the result of each step after it",
    ),
    Peer(
        "Burr",
        ("apache-burr==0.42.0", "aiosqlite==0.22.1"),
        "import burr.core",
        "SQLite persisters, rollback journal: the whole state after each action; the asynchronous one shares one "
        "transaction among all that save at a time",
    ),
    Peer("pytransitions", ("transitions==0.9.3",), "import transitions"),
    Peer("python-statemachine", ("python-statemachine==3.2.2",), "import statemachine"),
    Peer("Automat", ("automat==25.4.16",), "import automat"),
)

OURS: Final = ("attrs>=23.2", "cattrs>=24.1", "sqlite-utils>=4.0")
"""What Pawl itself needs there; Pawl comes from the checkout."""
