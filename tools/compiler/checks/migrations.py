"""E15: what a spec says about sessions of its other versions, and cannot be."""

from __future__ import annotations

from pawl.tools.compiler.checks.subject import Found, Subject
from pawl.tools.compiler.findings import line_of, quoted
from pawl.tools.compiler.migrations import follow, same_hash
from pawl.tools.compiler.spec import MigrationSpec


def impossible(subject: Subject) -> Found:
    """E15: versions named twice, this one named, items that lead nowhere, states that go on and do not."""
    seen: list[MigrationSpec] = []
    own = subject.model.spec_hash
    for item in subject.spec.migrations:
        name = quoted(item.source.text)
        if same_hash(item.source.text, own):
            yield item.source.at, f"{name} is this very version; remove the item, its sessions go on as they are"
        for other in (each for each in seen if same_hash(each.source.text, item.source.text)):
            where = line_of(other.source.at, item.source.at)
            yield item.source.at, f"{name} is the version of another item ({where}); make them one"
        seen.append(item)
    yield from follow(subject.scope, subject.model.states).problems
