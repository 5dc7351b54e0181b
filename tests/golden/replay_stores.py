"""Replays the golden stores and prints what came of it as JSON: run by any Python, on any machine, under any setting.

    python tests/golden/replay_stores.py [--with-shards] [STORE …]

The packages that Recollect needs must be installed, Recollect itself need not be: it is taken from the tree. With
`--with-shards` the shards are there, as brought from the machine that built them; otherwise they are built here.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import sys
import tempfile
import unicodedata
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent


def from_tree() -> None:
    """Import `recollect` from the source tree, whose folders are its packages."""
    package = ROOT / "src" / "recollect"
    folders = [str(folder) for folder in (package, ROOT, ROOT / "interfaces")]
    spec = spec_from_file_location("recollect", package / "__init__.py", submodule_search_locations=folders)
    assert spec is not None
    assert spec.loader is not None
    sys.modules["recollect"] = module = module_from_spec(spec)
    spec.loader.exec_module(module)


def replayed(stored: Path, folder: Path, *, with_shards: bool) -> dict[str, object]:
    """One store: how many recalls were ranked again, those that came out otherwise or not at all, and all rankings."""
    from recollect.events.facts import Recalled
    from recollect.interfaces.python.memory import Memory
    from recollect.projections.vectors.shard_cache import ShardUnavailable
    from recollect.replay.verify import replay

    shutil.copytree(stored, folder / "log")
    if with_shards:
        shutil.copytree(GOLDEN / "shards", folder / "cache" / "shards")
    digest, checked, different, missing = hashlib.sha256(), 0, [], []
    with Memory.open(folder, embedder="hash") as memory:
        store = memory.store
        for seq in store.projections.adoptions.recalls.tolist():
            fact = store.event(seq).fact
            assert isinstance(fact, Recalled)
            checked += 1
            try:
                again = replay(store.log, store.projections, fact)
            except ShardUnavailable:
                missing.append(f"r{seq}")
                continue
            if (again.ids, again.scores) != (fact.ids, fact.scores):
                different.append(f"r{seq}")
            digest.update(json.dumps([again.ids, [score.hex() for score in again.scores]]).encode())
        chain = store.log.chain_at(memory.status().head).hex()
    return {
        "store": stored.name, "checked": checked, "different": different, "not_here": missing,
        "chain": chain, "rankings": digest.hexdigest(),
    }  # fmt: skip


def main(arguments: list[str]) -> None:
    from_tree()
    import numpy as np

    from recollect.projections.vectors.level_generator import generator_here

    with_shards = "--with-shards" in arguments
    named = [Path(one) for one in arguments if one != "--with-shards"]
    found = []
    for stored in named or sorted((GOLDEN / "stores").iterdir()):
        with tempfile.TemporaryDirectory(prefix="recollect-golden-") as folder:
            found.append(replayed(stored, Path(folder), with_shards=with_shards))
    here = {
        "python": platform.python_version(), "machine": platform.machine(), "libc": " ".join(platform.libc_ver()),
        "unicode": unicodedata.unidata_version, "numpy": np.__version__, "generator": generator_here(),
    }  # fmt: skip
    sys.stdout.write(json.dumps({"here": here, "stores": found}))


if __name__ == "__main__":
    main(sys.argv[1:])
