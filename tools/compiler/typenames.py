"""Local names for the types that a generated module mentions, so that no two of them, or a method, share one."""

from __future__ import annotations

import keyword
from collections.abc import Iterable

import attrs

from pawl.tools.compiler.literal import Code, UnsafeText, identifier

NONE = "builtins:None"
_BARE_GENERIC = {
    "dict": "[Any, Any]",
    "frozenset": "[Any]",
    "list": "[Any]",
    "set": "[Any]",
    "tuple": "[Any, ...]",
    "type": "[Any]",
}


@attrs.define
class TypeNames:
    """Gives each `package.module:Class` a name in the module, and remembers what must be imported for it.

    `taken` are names that the module uses for something else (its own classes, the methods of its protocols).
    """

    taken: set[str]
    _local: dict[tuple[str, str], str] = attrs.field(factory=dict, init=False)

    def use(self, path: str) -> str:
        """The source of the type `path`; raises UnsafeText when it is no `package.module:Class`."""
        if path == NONE:
            return "None"
        module, colon, name = path.partition(":")
        outer, *inner = name.split(".")
        if not colon:
            raise UnsafeText(f"{path!r} is not a type: write it as package.module:Class")
        for part in (*module.split("."), outer, *inner):
            identifier(part)
        source = ".".join((self.bare(module, outer), *inner))
        if module != "builtins" or name not in _BARE_GENERIC:
            return source
        return source + _BARE_GENERIC[name].replace("Any", self.use("typing:Any"))

    def bare(self, module: str, name: str) -> str:
        """The local name of a class at the top of `module`, without parameters."""
        return self._local.get((module, name)) or self._choose(module, name)

    def union(self, paths: Iterable[str | None]) -> Code:
        """The source of a union of types, `None` for None; no type at all is `Never`: nothing calls it."""
        parts = [self.use(path or NONE) for path in paths]
        return Code(" | ".join(dict.fromkeys(parts)) or self.use("typing:Never"))

    def imports(self) -> list[tuple[Code, list[Code]]]:
        """`from module import names`, sorted, for all but plain builtins."""
        found: dict[str, list[Code]] = {}
        for (module, name), local in sorted(self._local.items()):
            if module == "builtins" and local == name:
                continue
            clause = identifier(name) if local == name else Code(f"{identifier(name)} as {identifier(local)}")
            found.setdefault(module, []).append(clause)
        return [(Code(module), names) for module, names in found.items()]

    def _choose(self, module: str, name: str) -> str:
        candidate, number = name, 1
        while candidate in self.taken or keyword.iskeyword(candidate):
            plain = "_".join((module.replace(".", "_"), name)).lstrip("_")
            candidate = f"_{plain}" if number == 1 else f"_{plain}_{number}"
            number += 1
        self.taken.add(candidate)
        self._local[module, name] = candidate
        return candidate
