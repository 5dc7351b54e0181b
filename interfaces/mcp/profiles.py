"""Which tools a server has: those of every server, and with the profile `audit` those that explain and prove."""

from __future__ import annotations

from recollect.events.errors import InvalidInput
from recollect.interfaces.mcp import audit_tools, expectation_tools, impact_tools, tools
from recollect.interfaces.mcp.tool import AnyTool

PROFILES: dict[str, tuple[AnyTool, ...]] = {
    "default": tools.TOOLS,
    "audit": tools.TOOLS + audit_tools.TOOLS + impact_tools.TOOLS + expectation_tools.TOOLS,
}


def tools_of(profile: str) -> dict[str, AnyTool]:
    if profile not in PROFILES:
        raise InvalidInput(f"there is no profile {profile!r}; there are {', '.join(PROFILES)}")
    return {tool.name: tool for tool in PROFILES[profile]}


def unknown(name: str, profile: str) -> str:
    """The answer to a call of a tool that this server does not have."""
    elsewhere = [other for other, tools_ in PROFILES.items() if name in {tool.name for tool in tools_}]
    if elsewhere:
        return f"the tool {name!r} belongs to the profile {elsewhere[0]!r}; start the server with --profile {elsewhere[0]}"
    return f"there is no tool {name!r}; there are {', '.join(tools_of(profile))}"
