"""What a fragment shows to be wrong by itself, when no machine of the run uses it.

It is put into a machine that has nothing but its exits, and asked the questions that need no more than that.
"""

from __future__ import annotations

import attrs

from pawl.tools.compiler.assemble import assemble, too_large
from pawl.tools.compiler.checks.rules import check
from pawl.tools.compiler.checks.subject import Subject
from pawl.tools.compiler.compose import compose
from pawl.tools.compiler.findings import Finding
from pawl.tools.compiler.include import Included, Includes
from pawl.tools.compiler.installed import protocol
from pawl.tools.compiler.model import Position
from pawl.tools.compiler.scope import Scope
from pawl.tools.compiler.spec import (
    BarriersSpec,
    BindSpec,
    EventSpec,
    Fragment,
    Name,
    RowSpec,
    Spec,
    StateSpec,
    UseSpec,
)

_NOWHERE = Position("", 0, 0)
_OPEN = frozenset({"E09"})
"""Rules about what may be the user's: events, for one, need no declaration in a fragment."""


def alone(fragment: Fragment) -> list[Finding]:
    """The findings in `fragment`; none for one that includes others, as nobody says how far it may reach for them."""
    if fragment.include or fragment.use:
        return []
    spec, findings = compose(_user(fragment), Includes({fragment.fragment.text: Included(fragment, {}, True)}, True))
    if not findings:
        scope = Scope(spec, protocol() if spec.barrier_states() else None)
        oversized = too_large(scope)
        found = check(Subject(scope, assemble(scope), (spec,)), whole=False) if oversized is None else [oversized]
        findings = tuple(each for each in found if each.rule not in _OPEN)
    return [
        attrs.evolve(each, position=attrs.evolve(each.position, via=None))
        for each in findings
        if each.position.file == fragment.file
    ]


def _user(fragment: Fragment) -> Spec:
    """The least machine that uses it."""
    ends = {f"end{number}": word for number, word in enumerate(fragment.exits)}
    states = {name: StateSpec(_NOWHERE, _name(name), final=True) for name in ends}
    given = {word: _name(name) for name, word in ends.items()} | {word: _name(word) for word in fragment.parameters}
    use = UseSpec(
        at=_NOWHERE,
        fragment=_name(fragment.fragment.text),
        prefix=_name("used"),
        given={word: BindSpec(_NOWHERE, _name(word), value) for word, value in given.items()},
    )
    return Spec(
        at=_NOWHERE,
        pawl=1,
        machine=_name("user"),
        version=1,
        states={"begin": StateSpec(_NOWHERE, _name("begin"), initial=True, auto=True), **states},
        transitions=(RowSpec(at=_NOWHERE, source=(_name("begin"),), target=_name("used")),),
        use=(use,),
        events={"stop": EventSpec(_NOWHERE, _name("stop"))} if "stop" not in fragment.events else {},
        barriers=BarriersSpec(_NOWHERE, stop=(_name("stop"),), conflict=_name("begin"), superseded=_name("begin")),
    )


def _name(text: str) -> Name:
    return Name(text, _NOWHERE)
