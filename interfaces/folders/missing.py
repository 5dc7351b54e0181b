"""Which known files are gone, and why; and which only seem to be.

What could not be seen is not gone: an unreadable folder, or a volume below the folder that is not mounted (the
files were on another device than the folder, and the place where they were is now on the folder's own).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from recollect.interfaces.folders.file_cache import FileCache
from recollect.interfaces.folders.manifest import Manifest
from recollect.interfaces.folders.reconcile import Document
from recollect.interfaces.folders.scan import Seen, stamp_at

REMOVED = "was removed"


def gone_paths(
    manifest: Manifest, seen: Seen, scope: set[str] | None, cache: FileCache, folder: str
) -> dict[str, str]:
    """Paths that the store holds and that have no file, each with the reason."""
    gone: dict[str, str] = {}
    for path in manifest.paths():
        above = [path, *_ancestors(path)]
        if path in seen.files or (scope is not None and not scope.intersection(above)):
            continue
        if any(place in seen.unreadable for place in above) or _unmounted(path, cache, folder):
            continue
        refused = next((seen.refused[place] for place in above if place in seen.refused), None)
        gone[path] = REMOVED if refused is None else f"is no longer taken: {refused}"
    return gone


def _ancestors(path: str) -> list[str]:
    """a/b/c → a/b, a, and the folder itself."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(len(parts) - 1, -1, -1)]


def _unmounted(path: str, cache: FileCache, folder: str) -> bool:
    known = cache.files.get(path)
    if known is None or cache.marker is None or known.stamp.device == cache.marker.device:
        return False
    for place in _ancestors(path):
        found = stamp_at(folder, place)
        if found is not None:
            return found.device == Path(folder).stat().st_dev
    return False


def unnoticed(
    manifest: Manifest, documents: Mapping[str, Document], gone: set[str], cache: FileCache, folder: str
) -> dict[str, str]:
    """Files that are gone without an event and may have become a new file: a rename may report one end only."""
    new = [path for path in documents if not any(known.counts for known in manifest.at(path))]
    if not new:
        return {}
    bodies = {chunk.body for path in new for chunk in documents[path]}
    inodes = {stamp.inode for path in new if (stamp := stamp_at(folder, path)) is not None}
    maybe = {known.path for known in manifest if known.removable and known.body in bodies}
    maybe |= {path for path, known in cache.files.items() if known.stamp.inode in inodes}
    maybe -= {*documents, *gone}
    return {
        path: REMOVED
        for path in maybe
        if _is_missing(folder, path)
        and not _unmounted(path, cache, folder)
        and any(known.removable for known in manifest.at(path))
    }


def _is_missing(folder: str, path: str) -> bool:
    """Whether there is certainly no such file."""
    try:
        Path(folder, path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
