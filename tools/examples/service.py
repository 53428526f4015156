"""A web service: runs are started, followed as server-sent events, and decided by POST. FastAPI, one file.

    pip install "pawl-fsm[examples]"
    uvicorn pawl.tools.examples.service:app

Kill it whenever you like: a client that comes back with the id of the last event it saw misses nothing, and a decision
that is posted to the next process is the same decision.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import attrs
from fastapi import FastAPI, Header, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel

from pawl import (
    AgentBusy,
    AlreadyDecided,
    Blocked,
    Cancelled,
    Completed,
    ExecutionNotFound,
    Failed,
    IdConflict,
    PawlError,
    Rejected,
    Runtime,
    StaleRequest,
)
from pawl.tools.examples.agents import Books, support

_STATUS: dict[type[PawlError], int] = {
    ExecutionNotFound: 404,
    AgentBusy: 409,
    AlreadyDecided: 409,
    IdConflict: 409,
    StaleRequest: 409,
}


ENDS = (Completed, Rejected, Failed, Cancelled, Blocked)


class Start(BaseModel):
    """What somebody wants; `id` makes it safe to post twice."""

    customer: str
    text: str
    id: str | None = None


class Decide(BaseModel):
    """What a person says to a request."""

    approve: bool
    message: str = ""


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    folder = Path(os.environ.get("PAWL_FOLDER", "."))
    books = Books(folder / "payments.db")
    async with Runtime(f"sqlite:///{folder / 'refunds.db'}", agents=[support], deps=books) as runtime:
        app.state.runtime = runtime
        yield


app = FastAPI(title="Refunds", lifespan=_lifespan)


@app.exception_handler(PawlError)
async def _refused(_: Request, error: PawlError) -> JSONResponse:
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 400)
    return JSONResponse({"error": type(error).__name__, "message": str(error)}, status)


def _runtime(request: Request) -> Runtime:
    runtime: Runtime = request.app.state.runtime
    return runtime


@app.post("/runs", status_code=201)
async def start(body: Start, request: Request) -> dict[str, str]:
    """Start a run; returns when it is on disk."""
    customer = await _runtime(request).open(support, body.customer)
    return {"id": (await customer.start(body.text, id=body.id)).id}


@app.get("/runs/{run}")
async def look(run: str, request: Request) -> dict[str, Any]:
    """What a run is at."""
    rest = await _runtime(request).result(run)
    return {"at": "moving"} if rest is None else {"at": type(rest).__name__.lower(), **_plain(rest)}


@app.get("/runs/{run}/events")
async def follow(run: str, request: Request, last_event_id: Annotated[int | None, Header()] = None) -> Response:
    """Everything that happens to a run, through all its rests, from behind the last event that the client has seen.

    204 tells an EventSource that nothing will follow, or it would come back for ever.
    """
    execution = await _runtime(request).execution(run)
    after = last_event_id or 0
    seen_all = not await execution.history(after)  # and refuses a cursor of elsewhere, while there is time
    if seen_all and isinstance(await _runtime(request).result(run), ENDS):
        return Response(status_code=204)

    async def lines() -> AsyncIterator[str]:
        async for event in execution.events(after=after, through_rests=True):
            yield event.to_sse()

    return StreamingResponse(lines(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@app.post("/requests/{asked}/decision")
async def decide(asked: str, body: Decide, request: Request) -> dict[str, str]:
    """Say yes or no to one request, the one that was seen: a run may have a next one by the time that this arrives.

    On record when this returns; posting the same again is no error.
    """
    await _runtime(request).record_decision(asked, approve=body.approve, message=body.message)
    return {"decided": asked}


@app.post("/runs/{run}/cancel")
async def cancel(run: str, request: Request) -> dict[str, str]:
    """Ask a run to stop. On record when this returns."""
    await _runtime(request).cancel(run)
    return {"cancelled": run}


def _plain(rest: Any) -> dict[str, Any]:
    return attrs.asdict(rest, filter=lambda field, _: not field.name.startswith("_"))
