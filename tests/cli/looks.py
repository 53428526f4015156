"""An order in two versions, and what was recorded of it, for tests of commands that look at specs."""

from __future__ import annotations

import json
from typing import Any

OLD = """\
pawl: 1
machine: order
version: 1
doc: From a basket to a parcel.
states:
  cart: {initial: true}
  paying: {enter: [ask]}
  packing: {}
  hold: {wait: true}
  sent: {final: true, outcome: sent}
  gone: {final: true, outcome: gone}
events: {checkout: {}, paid: {}, packed: {}, cancel: {}, nudge: {}}
groups: {END: [cancel, nudge]}
transitions:
  - {from: cart, on: checkout, to: paying}
  - {from: paying, on: paid, to: packing, when: enough}
  - {from: paying, on: paid, to: hold}
  - {from: [cart, paying], on: END, to: gone}
  - {from: packing, on: packed, to: sent}
  - {from: packing, on: nudge}
  - {from: packing, on: cancel, to: gone}
  - {from: hold, on: packed, to: packing}
  - {from: hold, on: cancel, to: gone}
unhandled: {stale: "*"}
"""

NEW = """\
pawl: 1
machine: order
version: 2
doc: From a basket to a parcel, and the bank may say no.
states:
  cart: {initial: true}
  paying: {enter: [ask], after: {delay: patience, on: cancel}}
  packing: {}
  fraud: {halt: true}
  sent: {final: true, outcome: sent}
  gone: {final: true, outcome: gone}
events: {checkout: {}, paid: {}, packed: {payload: "builtins:str"}, cancel: {}, nudge: {}}
groups: {END: [cancel, nudge]}
transitions:
  - {from: cart, on: checkout, to: paying}
  - {from: paying, on: paid, to: fraud, unless: enough}
  - {from: paying, on: paid, to: packing}
  - {from: [cart, paying], on: END, to: gone}
  - {from: packing, on: packed, to: sent, do: [post]}
  - {from: packing, on: [nudge, cancel], to: gone}
unhandled: {stale: "*"}
"""


def recorded(*rows: dict[str, Any], machine: str = "order", **more: Any) -> str:
    """A coverage file."""
    return json.dumps({"pawl_coverage": 1, "machines": [{"machine": machine, "rows": list(rows), **more}]})


def row(source: str, on: str, to: str | None, count: int = 1, **more: Any) -> dict[str, Any]:
    """One row of it."""
    return {"from": source, "on": on, "count": count, **({"to": to} if to is not None else {}), **more}


SOME = recorded(
    row("cart", "checkout", "paying", 3),
    row("paying", "paid", "packing", 2, when=["enough"]),
    row("paying", "cancel", "gone"),
    row("packing", "packed", "sent", 2),
)
