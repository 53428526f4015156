"""What `pawl` prints of a run whose tool has arguments that people must not see."""

from __future__ import annotations

from cli.shell import Shell

CARD = "4111222233334444"
MODULE = f'''\
from typing import Annotated

from pawl import Agent, Secret, call, scripted, tool


@tool(approval=True)
def pay(card: Annotated[str, Secret], pin: Annotated[int, Secret], cents: int) -> str:
    return "paid"


office = Agent(
    name="office",
    model=scripted([call("pay", card="{CARD}", pin=739146, cents=5), "done"]),
    tools=[pay],
)
'''


def test_nothing_of_it_is_printed_whatever_is_asked(shell: Shell) -> None:
    shell.write("shop.py", MODULE)
    started = shell("run", "shop", "go", "--json")
    execution, request = started.json["execution_id"], started.json["request"]["id"]
    said = [started]
    edit = '{"card": "[redacted]", "pin": 123456, "cents": 4}'
    for words in (
        ("ls",),
        ("ls", "--json"),
        ("show", execution),
        ("show", execution, "--json"),
        ("approve", request, "--edit", f"c1={edit}"),
        ("show", execution),
        ("show", execution, "--json"),
        ("ls", "--json"),
    ):
        said.append(shell(*words))
        assert said[-1].code in (0, 3), (words, said[-1])
    everything = "".join(one.out + one.err for one in said)
    assert not [secret for secret in (CARD, "739146", "123456") if secret in everything]
    assert '"cents":4,"pin":"[redacted]"' in everything.replace(" ", "") or '"cents": 4' in everything


def test_whoever_goes_on_with_it_pays_with_the_real_card(shell: Shell) -> None:
    shell.write("shop.py", MODULE.replace('return "paid"', 'return "paid" if card.startswith("4111") else "not"'))
    request = shell("run", "shop", "go", "--json").json["request"]["id"]
    done = shell("approve", request, "--edit", 'c1={"cents": 4}', "--app", "shop", "--json")
    assert done.code == 0, done.err
    assert '"paid"' in done.out
    assert CARD not in done.out + done.err
