"""E01, E09, W09: names that are used and not declared, and the other way round."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs

from pawl.tools.compiler.checks import mentions
from pawl.tools.compiler.checks.names import is_mention
from pawl.tools.compiler.checks.subject import Found, Subject
from pawl.tools.compiler.findings import quoted, suggest
from pawl.tools.compiler.scope import EVERY, Scope
from pawl.tools.compiler.spec import GroupSpec, MethodSpec, Name, Part, RowSpec, Spec


def dangling(subject: Subject) -> Found:
    """E01: a state that nobody declares, or an inner state of a barrier where only its own rows may go."""
    scope, spec = subject.scope, subject.spec
    for name in mentions.targets(spec):
        yield from _state(name, scope, inner=False)
    for name in mentions.migrated(spec):
        if name.text not in scope.used:  # that stands for its states
            yield from _state(name, scope, inner=False)
    for group in spec.groups.values():
        if not _holds_events(group, scope):
            members = [name for name in group.members if name.text not in scope.events]
            yield from (found for name in members for found in _state(name, scope, inner=True))
    for row in spec.transitions:
        for name in row.source:
            if scope.is_wildcard(name):
                continue
            if name.text.endswith(f".{EVERY}"):
                head = spec.local(name).removesuffix(f".{EVERY}")
                near = suggest(head, scope.used, "use a fragment `as` that, or write '*'")
                yield name.at, f"no fragment is used as {quoted(head)}; {near}"
                continue
            group_named = spec.groups.get(name.text)
            if group_named is None or name.text in scope.states:
                yield from _state(name, scope, inner=True, others=spec.groups)
            elif name.text in scope.used and not scope.states_of(name.text):
                yield name.at, f"{quoted(spec.local(name))} has no states; remove the row"
            elif not scope.states_of(name.text):
                what = f"{quoted(spec.local(name))} is a group of events"
                yield name.at, f"{what}; `from` takes states and groups of states"
        if row.target is not None:
            yield from _target(row, row.target, scope)


def undeclared(subject: Subject) -> Found:
    """E09: an event that nobody declares; a guard, action or delay that is missing where the spec lists them."""
    scope, spec = subject.scope, subject.spec
    yield from _unlisted(subject)
    for name in mentions.events(spec):
        yield from _event(name, scope, ())
    for name in mentions.event_lists(spec):
        group = spec.groups.get(name.text)
        if group is None or name.text in scope.events:
            yield from _event(name, scope, spec.groups)
        elif not scope.events_of(name.text):
            yield name.at, f"{quoted(name.text)} is a group of states; events and groups of events belong here"
    for group in spec.groups.values():
        if _holds_events(group, scope):
            members = [name for name in group.members if name.text not in scope.states]
            yield from (found for name in members for found in _event(name, scope, ()))
    for kind, used, declared in _methods(spec):
        if declared is None:
            continue
        known = {*declared, *(name for name, other in scope.brought.items() if other == kind)}
        known |= {name for fragment in spec.fragments.values() for name in getattr(fragment, f"{kind}s") or {}}
        for name in used:
            if name.text not in known and is_mention(name.text):
                advice = suggest(name.text, known, f"add it to `{kind}s`")
                yield name.at, f"unknown {kind} {quoted(name.text)}; {advice}"


def _unlisted(subject: Subject) -> Found:
    """In a fragment that lists its guards, actions or delays: one that is used there and not in the list."""
    for via, fragment in subject.spec.fragments.items():
        for kind, used, declared in _methods(fragment):
            brought = {name for name, other in subject.scope.brought.items() if other == kind}
            known = {*(declared or {}), *fragment.parameters, *brought}
            for name in used:
                if declared is not None and name.text not in known and is_mention(name.text):
                    advice = suggest(name.text, known, f"add it to `{kind}s`, or to `parameters`")
                    yield attrs.evolve(name.at, via=via), f"unknown {kind} {quoted(name.text)}; {advice}"


def unused(subject: Subject) -> Found:
    """W09: something declared that nothing uses."""
    spec, scope, model = subject.spec, subject.scope, subject.model
    yield from _unused_parts(spec)
    for kind, _, declared in _methods(spec):
        used = {"guard": model.guards, "action": model.actions, "delay": model.delays}[kind]
        for method in (declared or {}).values():
            if method.name.text not in used:
                yield method.name.at, f"the {kind} {quoted(method.name.text)} is never used; use it or remove it"
    busy = {row.event for row in model.rows} | {state.after.event for state in model.states if state.after is not None}
    for event in spec.events.values():
        if event.name.text not in busy:
            yield event.name.at, f"no row and no timer uses the event {quoted(event.name.text)}; use it or remove it"
    mentioned = {name.text for name in mentions.event_lists(spec)}
    mentioned |= {name.text for row in spec.transitions for name in row.source}
    for group in spec.groups.values():
        if group.name.text not in mentioned and group.name.text not in scope.used:
            yield group.name.at, f"the group {quoted(spec.local(group.name))} is never used; use it or remove it"
    if spec.barriers is not None and not spec.barrier_states():
        yield spec.barriers.at, "no state has a barrier; remove `barriers`, or give a state `barrier: NAME`"


def _unused_parts(spec: Spec) -> Found:
    """Includes of which nothing is used, and what fragments ask or list for nothing."""
    files: dict[str, set[str]] = {}
    for fragment in spec.fragments.values():
        files.setdefault(fragment.fragment.text, set()).add(os.path.realpath(fragment.file))
    for via, part in spec.parts():
        used = {file for use in part.use for file in files.get(use.fragment.text, ())}
        for file in part.include:
            if os.path.realpath(Path(part.file).parent / file.text) not in used:
                message = f"nothing of {quoted(file.text)} is used; add `use: FRAGMENT as PREFIX`, or remove it"
                yield attrs.evolve(file.at, via=via), message
    for via, fragment in spec.fragments.items():
        words = set(mentions.words(fragment))
        for kind, table in (("exit", fragment.exits), ("parameter", fragment.parameters)):
            for asked in table.values():
                if asked.name.text not in words:
                    at = attrs.evolve(asked.name.at, via=via)
                    yield at, f"the {kind} {quoted(asked.name.text)} is never used; use it or remove it"
        for kind, _, declared in _methods(fragment):
            for method in (declared or {}).values():
                if method.name.text not in words:
                    at = attrs.evolve(method.name.at, via=via)
                    yield at, f"the {kind} {quoted(method.name.text)} is never used; use it or remove it"


def _state(name: Name, scope: Scope, inner: bool, others: Iterable[str] = ()) -> Found:
    """What is wrong with `name` as a state; `inner` allows inner states of barriers, `others` are known, too."""
    if name.text in (scope.states if inner else scope.spec.states) or not is_mention(name.text):
        return
    head, dot, _ = name.text.rpartition(".")
    before = scope.spec.prefix(name)
    text, host = name.text.removeprefix(before), head.removeprefix(before)
    if name.text in scope.inner:
        yield name.at, f"{quoted(text)} is inside a barrier; lead to {quoted(host)}, the barrier does the rest"
    elif name.text in scope.used:
        yield name.at, f"{quoted(text)} has no way in; mark one of its states `initial: true`, or lead to one of them"
    elif name.text in scope.spec.groups:
        yield name.at, f"{quoted(text)} is a group, and one state belongs here; name the state"
    elif dot and head in scope.spec.states and scope.spec.states[head].barrier is None:
        yield name.at, f"unknown state {quoted(text)}: {quoted(host)} has no barrier; add `barrier: NAME` to it"
    else:
        every = [*(scope.states if inner or dot else scope.spec.states), *others]
        known = [each.removeprefix(before) for each in every if each.startswith(before)]
        advice = "add it to `states`, or to `exits`" if before else "add it to `states`"
        yield name.at, f"unknown state {quoted(text)}; {suggest(text, known, advice)}"


def _target(row: RowSpec, name: Name, scope: Scope) -> Found:
    if name.text not in scope.inner:
        yield from _state(name, scope, inner=False)
        return
    host = scope.inner[name.text]
    for source in scope.sources(row.source):
        if scope.inner.get(source) is not host:
            yield (
                name.at,
                f"{quoted(source)} cannot lead into {quoted(name.text)}; lead to {quoted(host.name.text)}, the barrier "
                "does the rest",
            )
            return


def _event(name: Name, scope: Scope, others: Iterable[str]) -> Found:
    if name.text not in scope.events and is_mention(name.text):
        advice = suggest(name.text, [*scope.events, *others], "add it to `events`")
        yield name.at, f"unknown event {quoted(name.text)}; {advice}"


def _holds_events(group: GroupSpec, scope: Scope) -> bool:
    """Whether the unknown members of a group were most likely meant as events."""
    events = sum(name.text in scope.events for name in group.members)
    return events > sum(name.text in scope.states for name in group.members)


def _methods(spec: Part) -> Iterator[tuple[str, Iterator[Name], dict[str, MethodSpec] | None]]:
    """Each kind of context method: what uses it and what declares it."""
    yield "guard", mentions.guards(spec), spec.guards
    yield "action", mentions.actions(spec), spec.actions
    yield "delay", mentions.delays(spec), spec.delays
