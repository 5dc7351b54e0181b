"""The version of the package, where everything may import it from."""

from __future__ import annotations

__version__ = "0.1.0"
