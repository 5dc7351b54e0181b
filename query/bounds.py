"""Numbers with bounds, for the parameters of formulas. NaN and infinities satisfy none of them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

_HUGE = 1e300

Finite = Annotated[float, Meta(ge=-_HUGE, le=_HUGE)]
NonNegative = Annotated[float, Meta(ge=0.0, le=_HUGE)]
Positive = Annotated[float, Meta(gt=0.0, le=_HUGE)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Count = Annotated[int, Meta(ge=1, le=100_000)]
