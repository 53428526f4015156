"""Whole sittings at the command line, word for word. `pytest --rewrite` writes the golden files."""

from __future__ import annotations

from cli.shell import CLERK, Shell, agrees


def test_a_run_is_suspended_shown_decided_and_shown_again(shell: Shell, rewrite: bool) -> None:
    shell.write("clerk.py", CLERK)

    def ids() -> dict[str, str]:
        found = shell("ls", "--json")
        if found.code != 0:
            return {}
        (one,) = found.json["executions"]
        return {"id": one["execution_id"], "request": one["request_id"] or ""}

    told = shell.story(
        [
            "ls",
            'run clerk hello --durable-context \'{"to": "ann"}\'',
            "ls --open",
            "show {id}",
            "approve {request} --item c2",
            "reject {request} --item c3 -m 'too little'",
            "show {id}",
            "ls",
        ],
        ids,
    )
    agrees("decided.txt", told, rewrite)


def test_a_run_goes_on_where_there_is_code(shell: Shell, rewrite: bool) -> None:
    shell.write("clerk.py", CLERK)

    def ids() -> dict[str, str]:
        found = shell("ls", "--json")
        return {"id": found.json["executions"][-1]["execution_id"]} if found.code == 0 else {}

    told = shell.story(
        [
            "run clerk hello --db sqlite:///pawl.db --id r1",
            "approve {id} --app clerk",
            "approve {id}",
            "reject {id}",
            "show {id}",
            "run clerk again --id r2",
            "run clerk other --id r1",
        ],
        ids,
    )
    agrees("continued.txt", told, rewrite)


def test_a_call_that_nobody_knows_of_is_shown_asked_about_and_resolved(shell: Shell, rewrite: bool) -> None:
    name = shell.crashed()
    told = shell.story(
        [
            "ls",
            "show {id}",
            "run crasher 'charge it' --id r1",
            "show {id}",
            "resolve {id} c9 not-performed",
            "resolve {id} c1 succeeded",
            "resolve {id} c1 succeeded --result 'charged by hand'",
            "show {id}",
            "run crasher 'charge it' --id r1",
            "show {id}",
        ],
        lambda: {"id": name},
    )
    agrees("resolved.txt", told, rewrite)
