"""Locks in a forked child: the thread that held one in the parent does not exist there, so it is never released.

An owner of locks registers with `renewed_in_children` and gets `renew_locks` called in every child, before anything else
runs there.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Owner(Protocol):
    def renew_locks(self) -> None: ...


_owners: weakref.WeakSet[Owner] = weakref.WeakSet()


def renewed_in_children(owner: Owner) -> None:
    _owners.add(owner)


def _renew() -> None:
    for owner in list(_owners):
        owner.renew_locks()


os.register_at_fork(after_in_child=_renew)
