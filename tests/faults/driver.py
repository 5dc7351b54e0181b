"""python driver.py WORK SCENE STRIDE KIND…: one scene with a fault at every STRIDE-th file operation, for each kind.

Runs under LD_PRELOAD of `faults.c`. Every attempt is a child on its own copy of the store: forking is cheaper than
starting Python, and the parent never opens a store, so each child is a fresh process. Another child, without a
fault, then looks at what is left. Prints a line of JSON per attempt that went wrong, and one with the figures.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import recollect.interfaces.cli.app
from faults import aftermath
from faults.scenes import SCENES, Place, Scene, make_store

KINDS = {
    "EIO": (0, errno.EIO),
    "ENOSPC": (0, errno.ENOSPC),
    "EROFS": (0, errno.EROFS),
    "short": (1, 0),
    "kill": (2, 0),
    "full": (3, errno.ENOSPC),
}
KILLED, BROKEN = 77, 99
library = ctypes.CDLL(None)
library.fault_arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int]


def in_a_child(work: Callable[[], int], output: Path) -> tuple[int, str, str]:
    """Status, stdout and stderr of a child that does this."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(f"{output}.out", os.O_CREAT | os.O_WRONLY | os.O_TRUNC), 1)
        os.dup2(os.open(f"{output}.err", os.O_CREAT | os.O_WRONLY | os.O_TRUNC), 2)
        status = BROKEN
        try:
            status = work()
        except BaseException:  # noqa: BLE001 (a child must not go on as the parent)
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code, Path(f"{output}.out").read_text("utf-8"), Path(f"{output}.err").read_text("utf-8")


def perform(scene: Scene, place: Place) -> int:
    """The command as the shell would run it."""
    if scene.argv is None:
        assert scene.call is not None
        return _call(scene.call, place)
    options = ["--store", str(place.store), "--no-daemon", "--embedder", scene.embedder]
    try:
        recollect.interfaces.cli.app.main(args=[*scene.argv(place), *options], prog_name="recollect")
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _call(call: Callable[[Place], None], place: Place) -> int:
    """A program that uses the library meets our errors, or the system's, and says so."""
    from recollect.events.errors import RecollectError

    try:
        call(place)
    except (RecollectError, OSError) as error:
        print(f"recollect: {error}", file=sys.stderr)
        return 2
    return 0


def attempt(scene: Scene, work: Path, template: Path, number: int, kind: str) -> tuple[int, list[str]]:
    """One copy, one fault, and what is wrong afterwards; also how many operations there were."""
    place = Place(work / "attempt")
    shutil.rmtree(place.root, ignore_errors=True)
    shutil.copytree(template, place.root)
    mode, error = KINDS[kind]

    def command() -> int:
        library.fault_arm(os.fsencode(place.root), number, mode, error)
        return perform(scene, place)

    status, out, err = in_a_child(command, work / "command")
    operations = int(library.fault_count())
    problems = aftermath.of_the_command(status, out, err, killed=kind == "kill")
    acknowledged = status == 0
    code, said, failed = in_a_child(
        lambda: aftermath.look(scene, place, template, acknowledged=acknowledged), work / "aftermath"
    )
    problems += said.splitlines()
    if code:
        problems.append(f"the look afterwards failed: {failed.strip().splitlines()[-1:]}")
    return operations, problems


def main() -> None:
    work, name, stride = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    kinds = sys.argv[4:]
    scene = next(scene for scene in SCENES if scene.name == name)
    template = work / "template"
    made, _, failure = in_a_child(lambda: _prepare(scene, Place(template)), work / "prepare")
    assert made == 0, failure
    operations, problems = attempt(scene, work, template, 0, "EIO")
    attempts = 1
    for place, kind in enumerate(kinds):
        for number in range(1 + place % stride, operations + 1, stride):
            attempts += 1
            _, found = attempt(scene, work, template, number, kind)
            problems += [f"{kind} at operation {number} of {operations}: {problem}" for problem in found]
    for problem in problems:
        print(json.dumps({"scene": name, "problem": problem}))
    print(
        json.dumps(
            {"scene": name, "operations": operations, "faults": attempts - 1, "problems": len(problems)}
        )
    )


def _prepare(scene: Scene, place: Place) -> int:
    make_store(place)
    scene.prepare(place)
    return 0


main()
