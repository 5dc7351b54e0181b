"""The surface that people and programs call: commands with their options, Python's twins, and fields of results.

`COMMANDS`, `METHODS` and `FIELDS` are the promise. Each is looked up in the help text, on the pages, and in `Memory`.
"""

from __future__ import annotations

import inspect
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner

from recollect import Memory
from recollect.dream.report import DreamReport
from recollect.engine.answers import Answer, Hit, Status
from recollect.engine.expectations import CheckReport
from recollect.engine.impact import Impact
from recollect.engine.past import PastView
from recollect.engine.recalls import RecordedRecall
from recollect.engine.tune import Tuned
from recollect.interfaces.cli.app import main
from recollect.query.explanation import Explanation
from recollect.replay.changes.bisect import Bisection
from recollect.replay.compare.comparison import Comparison
from recollect.replay.verify import VerifyReport
from recollect.web.api_tell import Remembered

ROOT = Path(__file__).parent.parent

COMMANDS = """
remember TEXT --supersedes --id --project --embedder --no-daemon --kind --tag --importance --valid-from --valid-to
recall QUERY --without --at --now --no-record --no-track --project --valid-at --formula --session --context --embedder
get ID --at
revise ID --supersedes
access ID
rate ID
link A B --kind
unlink A B
forget ID
restore ID
supersede OLD NEW
erase ID --where --unattested --dry-run
history ID
memories --at
dream --dry-run --now
undream DREAM
log --follow
why RECALL ID --full
why-not RECALL ID
why-changed QUESTION ID --since --until
verify --independent --against --attest
compare A B --fail-if --recalls
bisect QUESTION ID --since --until --until-rank
fork --formula --closed-loop
sql QUERY
formulas
formulas show NAME --flat
formulas check FILE
formulas reference
watch FOLDER
import PATH
export PATH --with-shards --overwrite
status
mcp --profile
serve --stores --tokens --profile
recalls --since --until --session --project --actor --formula --grep --empty --rated --held --limit
show THING
impact ID
stale
expect RECALL ID --top --first --absent --above --note
expectations
check --formula --at --junit --fork
fixture RECALL --out --redact
tune FORMULA --out --adopt
checkpoint --out
replicate SOURCE TARGET
sync REMOTE
demo --store
reembed --missing
retain --recalls
helper status
helper stop
doctor --fix --scrub --salvage
config
"""
NO_STORE = {"completion", "helper", "formulas", "replicate", "config", "demo"}

METHODS = """
open path embedder formula
remember content id kind importance priority tags entities project session source at valid_from valid_to expires_at importance_tag key supersedes
remember_many items progress
similar id
revise id
recall query k formula session context filters now track record without valid_at
access ids session how
rate id recall
link a b kind weight
unlink a b
forget id reason
restore id
supersede old new
erase dry_run
get id at
history id
memories filters at
dream dry_run phases now
undream dream_id
at when
why
why_not
why_changed query id since until
verify against attest independent
compare a b
bisect query id since until
fork formula closed_loop
sql query
export path
import_ path
status
recalls since until session project actor formula grep empty rated held limit
show name
impact id
stale
expect recall id top first absent above note
expectations
check formula at junit fork
fixture recalls out redact
tune formula out adopt
checkpoint
"""

FIELDS: dict[type[msgspec.Struct], str] = {
    Answer: "id basis formula hits degraded",
    Hit: "id score rank content factors kind at project session source tags revision",
    VerifyReport: "exact checked differences verdict exact_count attested redacted not_here different",
    Status: "head",
    DreamReport: "id",
    Bisection: "seq",
    Explanation: "score rank stages dropped_at",
    Comparison: "metrics",
    Impact: "answers changed",
    CheckReport: "passed failed",
    Tuned: "formula before after judged",
    RecordedRecall: "id at query filters session actor formula hits",
    Remembered: "id similar",
}

# What is promised and not there yet, as "command --option" or "method parameter". A promise that is kept leaves it.
OPEN: frozenset[str] = frozenset()


def promises(text: str) -> list[Any]:
    return [pytest.param(line.split(), id=line) for line in text.strip().splitlines()]


def found_command(words: list[str]) -> tuple[list[str], click.Command]:
    """The command that a promise begins with, and the words that name it."""
    command: click.Command = main
    names: list[str] = []
    for word in words:
        inner = (
            command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
        )
        if inner is None:
            break
        command = inner
        names.append(word)
    return names, command


@pytest.mark.parametrize("words", promises(COMMANDS))
def test_every_command_takes_its_arguments_and_its_help_names_its_options(words: list[str]):
    names, command = found_command(words)
    assert names == [word for word in words if word.islower() and not word.startswith("--")]
    shown = CliRunner().invoke(main, [*names, "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    options = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", shown.output.partition("Options:")[2]))
    promised = {word for word in words if word.startswith("--")} | {"--json"}
    promised |= set() if names[0] in NO_STORE else {"--store"}
    assert sorted(promised - options) == still_open(names, words)
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    assert len(arguments) >= len([word for word in words if word.isupper()])


def still_open(names: list[str], words: list[str]) -> list[str]:
    return sorted(word for word in words if f"{' '.join(names)} {word}" in OPEN)


@pytest.mark.parametrize("words", promises(COMMANDS))
def test_every_command_is_on_a_page_with_options_that_it_has(words: list[str]):
    """And no page gives it an option that it does not take."""
    names, command = found_command(words)
    own = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
    called = [line for line in command_lines() if line[1 : 1 + len(names)] == names]
    assert called
    used = {
        word.partition("=")[0]
        for line in called
        for word in line
        if re.fullmatch(r"--[a-z][\w-]*(=.*)?", word)
    }
    of_subcommands = isinstance(command, click.Group)
    assert of_subcommands or used <= own | {"--help"}


def command_lines() -> list[list[str]]:
    """Every call of `recollect` that begins a line on a page, up to a pipe, a comment or the next command."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    texts = [page.read_text("utf-8").replace("\\\n", " ") for page in pages]
    lines = [
        line for text in texts for line in re.findall(r"^(?:\$ )?(recollect [a-z].*)$", text, re.MULTILINE)
    ]
    calls = []
    for line in lines:
        try:
            words = shlex.split(line, comments=True)
        except ValueError:  # prose that begins with the name
            continue
        end = next(
            (place for place, word in enumerate(words) if word in {"|", ";", "&&", ">", "||", "&"}), None
        )
        calls.append(words[:end])
    return calls


@pytest.mark.parametrize("words", promises(METHODS))
def test_memory_has_the_twin_of_every_command_with_its_parameters(words: list[str]):
    name, *promised = words
    taken = parameters(getattr(Memory, name))
    assert [word for word in promised if word not in taken] == still_open([name], promised)


def parameters(method: Any) -> set[str]:
    """The names that a method takes, those of its `**options` included."""
    return set(inspect.signature(method).parameters) | set(unpacked(method))


def unpacked(method: Any) -> list[str]:
    """The keywords of a method's `**options`, as the TypedDict of their annotation lists them."""
    named = re.findall(r"Unpack\[([\w.]+)\]", " ".join(map(str, method.__annotations__.values())))
    module = vars(sys.modules[method.__module__])
    return [key for name in named for key in eval(name, module).__annotations__]


@pytest.mark.parametrize(
    "name",
    [
        "open",
        "erase",
        "dream",
        "verify",
        "compare",
        "fork",
        "doctor",
        "export",
        "import_",
        "retain",
        "tune",
        "expect",
        "check",
        "proposals",
    ],
)
def test_the_help_of_a_method_names_every_keyword_that_it_hands_on(name: str):
    method = getattr(Memory, name)
    shown = inspect.getdoc(method) or ""
    assert [key for key in unpacked(method) if key != "progress" and f"`{key}" not in shown] == []


@pytest.mark.parametrize("struct", FIELDS, ids=lambda struct: struct.__name__)
def test_results_have_the_fields_that_programs_read(struct: type[msgspec.Struct]):
    assert [name for name in FIELDS[struct].split() if name not in struct.__struct_fields__] == []
    assert struct.__struct_config__.frozen


@pytest.mark.parametrize("name", ["recall", "get", "memories", "explain"])
def test_the_past_answers_like_the_present_and_takes_the_same_beside_a_moment(name: str):
    assert parameters(getattr(Memory, name)) - {"at"} <= parameters(getattr(PastView, name))
