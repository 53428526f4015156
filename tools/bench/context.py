"""What a request's context costs: a long conversation read and assembled, and a token policy as it grows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time

from pawl.runtime.agent.assembly import PLAIN
from pawl.runtime.agent.context_policy import ContextPolicy, ranges
from pawl.runtime.agent.ledger import Ledger, Stretch, continued
from pawl.runtime.agent.transcript import Transcript
from pawl.runtime.execution.load import transcript
from pawl.runtime.records.journal import Content, JournalEntry, JournalKind
from pawl.runtime.records.messages import Message
from pawl.runtime.simulation.samples import an_agent, an_execution, done
from pawl.runtime.store.port import Transaction
from pawl.runtime.store.sqlite import SqliteStore
from pawl.tools.bench.figures import Figure
from pawl.tools.bench.paired import ratios
from pawl.tools.bench.rounds import BODY, on_disk, texts

MESSAGES = 10_000

_PAGE = 500
"""Records that are written in one transaction."""

_BYTES = """
    SELECT j.kind, c.body, j.meta FROM journal j JOIN contents c ON c.id = j.content
    WHERE j.agent = (SELECT id FROM agents WHERE agent_id = 'a') ORDER BY j.position
"""


def context_ratio(messages: int = MESSAGES, batches: int = 5, pairs: int = 5) -> Figure:
    """A conversation of 10,000 messages of 2 KB, from the file to a request; times reading its bytes with SQLite alone.

    The reference gets the same rows of the same file, in order: who speaks, the text, and what else is known of it.
    No digest is compared, and what it gets are tuples of text.
    """
    with on_disk() as folder:
        store = talked(folder / "pawl.db", messages)
        bare = sqlite3.connect(folder / "pawl.db", isolation_level=None)

        def assembled() -> None:
            said = PLAIN.messages(Transcript(store.read(transcript("a", "now"))))
            _check(len(said), sum(len(message.text) for message in said), messages)

        def read() -> None:
            rows = bare.execute(_BYTES).fetchall()
            _check(len(rows), sum(len(body) for _, body, _ in rows), messages)

        found = min(ratios(assembled, read, batches=batches, pairs=pairs, clock=perf_counter))
        bare.close()
        store.close()
    note = "a digest of every text (0.6), the rows with what their digest needs (1.2), JSON and two objects a message"
    return Figure("context_10000_ratio", found, 4.0, "times", note=note)


def talked(path: Path, messages: int) -> SqliteStore:
    """A store with a conversation of one agent, in earlier runs that are over."""
    store = SqliteStore(path)
    store.open()
    done(store, lambda tx: tx.agents.insert(an_agent("a")))
    done(store, lambda tx: tx.executions.insert(an_execution("before", "a", status="completed", phase="completed")))
    said = _entries(messages)
    while page := tuple(islice(said, _PAGE)):

        def append(tx: Transaction, page: tuple[JournalEntry, ...] = page) -> None:
            tx.journal.append("a", tx.journal.position("a"), page)

        done(store, append)
    return store


def _entries(messages: int) -> Iterator[JournalEntry]:
    """Records as rounds make them: what the model said, with a call, and the call's result."""
    for number in range(messages):
        content = Content.of(texts().next())
        if number % 2:
            yield JournalEntry(JournalKind.TOOL_MESSAGE, "before", 10.0, content, {"tool_call_id": f"c{number - 1}"})
        else:
            calls = [{"id": f"c{number}", "name": "look_up", "arguments": '{"line": 1}'}]
            meta = {"llm_call_id": f"llm-{number}", "calls": calls}
            yield JournalEntry(JournalKind.ASSISTANT_MESSAGE, "before", 10.0, content, meta)


def _check(count: int, size: int, messages: int) -> None:
    """Whoever reads less would win for nothing."""
    if (count, size) != (messages, messages * BODY):
        raise AssertionError(f"{count} messages of {size} bytes were read")


def policy_growth(steps: int = MESSAGES // 2, before: int = MESSAGES // 20, tries: int = 5) -> Figure:
    """A token policy over a conversation that grows by 5,000 steps of two messages; times the same over 500 steps.

    What is linear in what it adds takes ten times as long.
    """
    long, short = (min(_grown(count) for _ in range(tries)) for count in (steps, before))
    return Figure("context_policy_growth", long / short, 12.0, "times", note="a binary search in the running totals")


def _grown(steps: int) -> float:
    """Processor seconds of the policy in a run of so many steps, each of which adds an answer and a result."""
    policy, said = ContextPolicy(max_tokens=20 * BODY), texts().next()
    count, messages = policy.counts.of, [Message("user", said)]
    ledger = Ledger().grown(Stretch(0, 1, 1, 1), count(messages[0]), request=True)
    begin = process_time()
    for _ in range(steps):
        messages += (Message("assistant", said), Message("tool", said, tool_call_id="c"))
        ledger = continued(ledger, messages, len(messages), count)
        ranges(policy.left_out(ledger, 0), ledger)
    return process_time() - begin
