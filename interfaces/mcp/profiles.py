"""Which tools a server has: those of every server, and with the profile `audit` those that explain and prove."""

from __future__ import annotations

from recollect.events.errors import InvalidInput
from recollect.interfaces.mcp import tools
from recollect.interfaces.mcp.tool import Tool

PROFILES = ("default", "audit")


def tools_of(profile: str) -> dict[str, Tool]:
    """The tools of a profile by their names. Those of `audit` load the engine; the others are listed before it is loaded."""
    if profile not in PROFILES:
        raise InvalidInput(f"there is no profile {profile!r}; there are {', '.join(PROFILES)}")
    found = [*tools.TOOLS]
    if profile == "audit":
        from recollect.interfaces.mcp import audit_tools, expectation_tools, impact_tools  # noqa: PLC0415 (see above)

        found += [*audit_tools.TOOLS, *impact_tools.TOOLS, *expectation_tools.TOOLS]
    return {tool.name: tool for tool in found}


def unknown(name: str, profile: str) -> str:
    """The answer to a call of a tool that this server does not have."""
    elsewhere = [other for other in PROFILES if name in tools_of(other)]
    if elsewhere:
        return f"the tool {name!r} belongs to the profile {elsewhere[0]!r}; start the server with --profile {elsewhere[0]}"
    return f"there is no tool {name!r}; there are {', '.join(tools_of(profile))}"
