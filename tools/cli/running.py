"""`pawl run` and `pawl worker`: the user's agents, run here, with a line for each thing that happens."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

import attrs

from pawl.runtime.agent.definition import Agent
from pawl.runtime.app.execution import Execution
from pawl.runtime.app.runtime import Runtime
from pawl.runtime.records.rests import Completed, Rest
from pawl.tools.cli import apps, rests
from pawl.tools.cli.apps import Code
from pawl.tools.cli.busy import when_free
from pawl.tools.cli.opening import opened_runtime
from pawl.tools.cli.output import Misuse, as_json, err, leave, out, tell_warnings
from pawl.tools.cli.rests import Ways
from pawl.tools.cli.stores import lasts, option
from pawl.tools.cli.telling import Teller

INTERRUPTED = 130
_LOOK = 0.02


@attrs.frozen
class Wish:
    """What `pawl run` was asked for."""

    app: str
    input: str
    agent_id: str | None
    start_id: str | None
    durable_context: str | None
    trace: bool
    stream: bool = False
    run_timeout: float | None = None


def run(wish: Wish, db: str, json: bool) -> None:
    """Start a run, tell what happens, end at its first rest with the exit code of that."""
    code = apps.load(wish.app)
    agent = code.one()
    context = _context(wish.durable_context)
    if wish.run_timeout is not None and not wish.run_timeout > 0:
        raise Misuse(f"--run-timeout {wish.run_timeout:g}: give a number of seconds above 0")
    text = sys.stdin.read() if wish.input == "-" else wish.input
    if wish.stream and json:
        raise Misuse("--stream prints text as it comes, and --json one object at the end; use one of them")
    teller = Teller(quiet=json, stream=wish.stream)
    options: dict[str, Any] = {
        "agent_id": wish.agent_id,
        "id": wish.start_id,
        "durable_context": context,
        "run_timeout": wish.run_timeout,
    }

    async def start(runtime: Runtime) -> Rest[Any]:
        if wish.stream:
            stream = runtime.stream(agent, text, **options, buffer=1)
            async with stream:  # the teller hears, in the order of all that it tells; the stream asks for tokens
                return await follow(stream.execution)
        return await follow(await runtime.start(agent, text, **options))

    async def follow(execution: Execution[Any]) -> Rest[Any]:
        started.append(execution.id)
        teller.say(f"{'run':<18} {execution.id}  agent {wish.agent_id or agent.name}")
        teller.follow(execution.id)
        return await execution

    started: list[str] = []
    try:
        rest = go_on(
            code, db, [agent], teller, lambda runtime: when_free(runtime, start, Ways(option(db))), trace=wish.trace
        )
    except KeyboardInterrupt:
        interrupted(started, Ways(option(db)), wish.app)
    if rests.exit_code(rest) == rests.AT_REST and not lasts(db):
        err("note: memory:// is gone with this process, and nobody can go on with the run; name a file with --db")
    end(rest, teller, Ways(option(db), f" --app {shlex.quote(wish.app)}"), json)


def go_on(
    code: Code,
    db: str,
    agents: Sequence[Agent[Any]],
    teller: Teller,
    work: Callable[[Runtime], Awaitable[Rest[Any]]],
    *,
    trace: bool = False,
) -> Rest[Any]:
    """Open a runtime with `agents` of `code` over the store at `db`, do `work` in it, and give its rest."""

    tell_warnings()

    async def main() -> Rest[Any]:
        async with opened_runtime(code, db, agents, teller.hear, teller.trace if trace else None) as runtime:
            try:
                rest = await work(runtime)
            except asyncio.CancelledError:
                err("stopping, when what runs has ended or after a few seconds; Ctrl-C again stops at once")
                raise
            # What was adopted beside it is not left in the middle of a call.
            while runtime.stats().moving:  # noqa: ASYNC110 - nobody is told when everything has come to rest
                await asyncio.sleep(_LOOK)
            return rest

    try:
        return asyncio.run(main())
    finally:
        for name, ended in teller.others.items():
            err(f"note: execution {name} was left open by another process; it went on here, and ended: {ended}")


def end(rest: Rest[Any], teller: Teller, ways: Ways, json: bool, asked: str | None = None) -> NoReturn:
    """Say where the run is now and what leads on; leave with the exit code of that, 0 for what was `asked` for."""
    if json:
        as_json(rests.as_data(rest) | {"events": teller.events})
    else:
        teller.end_line()
        out()
        for line, style in rests.lines(rest, ways):
            out(line, style)
            if isinstance(rest, Completed) and teller.said == rest.output != "":
                break  # its text has just been told
    leave(0 if rests.name(rest) == asked else rests.exit_code(rest))


def work(app: str, db: str, trace: bool) -> None:
    """Adopt what is open, and go on until somebody says stop (Ctrl-C, or SIGTERM)."""
    code = apps.load(app)
    teller = Teller()
    teller.follow(None)
    agents = code.all()

    tell_warnings()

    async def main() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError, ValueError):  # Windows, or not on the main thread: Ctrl-C still works
                asyncio.get_running_loop().add_signal_handler(number, stop.set)
        async with opened_runtime(code, db, agents, teller.hear, teller.trace if trace else None):
            names = ", ".join(f"{agent.name} version {agent.version}" for agent in agents)
            teller.say(f"working for {names}; Ctrl-C stops, and nothing that is on record is lost")
            await stop.wait()
            teller.say("stopping")

    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        leave(INTERRUPTED)


def _context(text: str | None) -> dict[str, Any] | None:
    return None if text is None else json_object(text, "--durable-context")


def json_object(text: str, option: str) -> dict[str, Any]:
    """The JSON object that an option holds. Raises Misuse that says where it is none."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Misuse(f"{option} is not JSON: {error}; quote it for the shell, such as '{{\"key\": 1}}'") from None
    if not isinstance(value, dict):
        raise Misuse(f"{option} must be a JSON object, such as '{{\"key\": 1}}', not {type(value).__name__}")
    return value


def interrupted(started: Sequence[str], ways: Ways, app: str) -> NoReturn:
    """Ctrl-C has come: say how to go on with what is on record, if anything is."""
    for name in started:
        err(f"\ninterrupted: {name} is on record and goes on where a host adopts it:")
        err(f"    {ways.command('worker', app)}")
    leave(INTERRUPTED)
