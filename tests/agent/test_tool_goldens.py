"""What a model is told of a tool, as golden files: `pytest --rewrite`, then read the diff."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, TypedDict, TypeVar

import attrs
import pytest

from pawl import Secret, Tool, ToolContext, tool

GOLDEN = Path(__file__).parents[1] / "golden" / "tools"
T = TypeVar("T")


class Size(enum.Enum):
    SMALL = "S"
    LARGE = "L"


@attrs.frozen
class Address:
    """Where something goes.

    Attributes:
        street: With the number.
        zip: The postal code.
    """

    street: str
    zip: Annotated[str, Secret, "Five digits."]
    country: str = "DE"


@dataclasses.dataclass
class Item:
    """One line of an order.

    Args:
        sku: The code on the shelf.
    """

    sku: str
    size: Size = Size.SMALL
    count: int = 1
    notes: list[str] = dataclasses.field(default_factory=list)


class Card(TypedDict):
    kind: Literal["card"]
    number: Annotated[str, Secret]
    holder: NotRequired[str]


class Transfer(TypedDict):
    kind: Literal["transfer"]
    iban: str


class Window(NamedTuple):
    start: datetime.time
    end: datetime.time | None = None


@dataclasses.dataclass
class Category:
    name: str
    inner: list[Category] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Page(Generic[T]):
    items: list[T]
    cursor: str | None = None


@tool(redact=["payment.number"])
def order(
    items: list[Item],
    to: Address,
    payment: Card | Transfer,
    ctx: ToolContext[dict[str, str]],
    window: Window | None = None,
    *,
    tip: decimal.Decimal = decimal.Decimal("0.50"),
    urgency: Literal["low", "high"] = "low",
) -> str:
    """Order things.

    They are sent on the next working day.

    Args:
        items (list[Item]): What to send,
            in this order.
        to: Where to.
        payment: How it is paid.
        tip: For the driver.

    Returns:
        The number of the order.
    """
    return ""


@tool
def search(query: str, limit: int = 10, tags: set[str] = frozenset()) -> list[str]:  # type: ignore[assignment]
    """Search the shop.

    Parameters
    ----------
    query : str
        Words to look for.
    limit : int, optional
        The most that is found.

    Returns
    -------
    list of str
        Codes.
    """
    return []


@tool
async def rename(category: Category, name: str, when: datetime.datetime | None = None) -> None:
    """Rename a category.

    :param category: The category,
        with all that is in it.
    :param str name: Its new name.
    :returns: nothing
    """


@tool(name="list-page", description="One page.")
def list_page(page: Page[Item], extra: dict[str, Any], pair: tuple[int, str], anything: Any = None) -> None:
    """This is not what the model is told."""


@tool
def nothing() -> None: ...


TOOLS: list[Tool[..., Any]] = [order, search, rename, list_page, nothing]


@pytest.mark.parametrize("one", TOOLS, ids=lambda one: one.name)
def test_a_model_is_told_exactly_this(one: Tool[..., Any], rewrite: bool) -> None:
    said = {"name": one.spec.name, "description": one.spec.description, "parameters": one.spec.parameters}
    text = json.dumps(said, indent=2, ensure_ascii=False) + "\n"
    golden = GOLDEN / f"{one.name}.json"
    if rewrite:
        golden.write_text(text, encoding="utf-8", newline="\n")
    assert golden.read_text(encoding="utf-8") == text


def test_every_golden_file_has_its_tool() -> None:
    assert sorted(path.stem for path in GOLDEN.iterdir()) == sorted(one.name for one in TOOLS)
