"""The comments of `--mlir-print-value-users`, and names of values from their locations, as upstream writes them.

%0 = arith.addi %a, %b : i32 // users: %1, %2        return %0 : i32 // id: %3        // %arg0 is used by %0
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tessera_tools.ir.location import CallSiteLoc, FusedLoc, Location, NameLoc
from tessera_tools.ir.values import BlockArgument, Value

if TYPE_CHECKING:
    from tessera_tools.ir.core import Operation
    from tessera_tools.ir.printing import Names

__all__ = ["argument_comment", "name_of_location", "users_comment"]


def users_comment(names: Names, op: Operation) -> str:
    """The comment after an op, with a space before it; empty if there is nothing to say."""
    if not op.results:
        return f" // id: {names.ids[op]}" if op.op_operands and op in names.ids else ""
    if not any(result.has_uses for result in op.results):
        return " // unused"
    users = {user for result in op.results for user in result.users}
    single = len(op.results) == 1 and len(users) <= 1 and sum(len(user.results) for user in users) <= 1
    texts = [_users(names, result) for result in op.results]
    if len(texts) > 1:
        texts = [f"({text})" for text in texts]
    return f" // {'user' if single else 'users'}: {', '.join(texts)}"


def argument_comment(names: Names, argument: BlockArgument) -> str:
    """The comment on a block argument."""
    how = f"is used by {_users(names, argument)}" if argument.has_uses else "is unused"
    return f"// {names.values.get(argument, '<<UNKNOWN SSA VALUE>>')} {how}"


def _users(names: Names, value: Value) -> str:
    """The users of a value, the last one first: their results, or their numbers."""
    if not value.has_uses:
        return "unused"
    shown: list[str] = []
    for user in dict.fromkeys(value.users):
        if user.results:
            shown += [names.values.get(result, "<<UNKNOWN SSA VALUE>>") for result in user.results]
        else:
            shown.append(names.ids.get(user, "<<UNKNOWN ID>>"))
    return ", ".join(shown)


def name_of_location(location: Location) -> str | None:
    """The name in a location, in the characters of an identifier; None if the location has no name."""
    if isinstance(location, NameLoc):
        name = re.sub(r"[^\w$.-]", "_", location.label, flags=re.ASCII)
        return (f"_{name}" if name[:1].isdigit() else name) or None
    if isinstance(location, CallSiteLoc):
        return name_of_location(location.callee) or name_of_location(location.caller)
    if isinstance(location, FusedLoc):
        return next(filter(None, map(name_of_location, location.locations)), None)
    return None
