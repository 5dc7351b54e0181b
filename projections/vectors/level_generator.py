"""Which random generator the hnswlib of this machine draws levels with.

hnswlib uses `std::default_random_engine` and `std::priority_queue`. The C++ standard leaves open which generator the
first is and which of several equal entries leaves the second first, so GNU's library and LLVM's build other graphs from
the same rows, and find other rows in the same graph where distances are equal. What a machine does is measured: a tiny
index full of equal distances is built and searched, and the digest of both is its name, unless it is GNU's.
"""

from __future__ import annotations

import hashlib
from functools import cache

import numpy as np

from recollect.projections.vectors.shard_names import LIBSTDCXX

_ROWS, _DIMENSIONS = 96, 4
_GNU = "cb22c6511f3f902da2102258ba058c4b9b98a55146d9deab717107856b5e472a"


@cache
def generator_here() -> str:
    """The name of this machine's generator, as builders say it: "libstdc++", or "cxx-" and a part of the digest."""
    digest = _probed()
    return LIBSTDCXX if digest == _GNU else f"cxx-{digest[:12]}"


def _probed() -> str:
    import hnswlib  # noqa: PLC0415 (most openings of a store build and load no shard)

    numbers = np.arange(_ROWS * _DIMENSIONS, dtype=np.int64)
    points = ((numbers * numbers * 7 + numbers * 3) % 5 - 2).astype(np.float32).reshape(_ROWS, _DIMENSIONS)
    index = hnswlib.Index(space="ip", dim=_DIMENSIONS)
    index.init_index(max_elements=_ROWS, M=2, ef_construction=8, random_seed=100, allow_replace_deleted=False)
    index.add_items(points, np.arange(_ROWS), num_threads=1, replace_deleted=False)
    found = index.knn_query(points, k=12, num_threads=1, filter=None)
    state = index.__getstate__()[0]
    digest = hashlib.sha256()
    for part in (state["data_level0"], state["link_lists"], state["element_levels"], *found):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()
