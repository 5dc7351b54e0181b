"""The settings file: complete, checked, changed table by table."""

from __future__ import annotations

import pytest

from recollect.dream.settings import default_settings, load_settings, settings_from
from recollect.events.errors import InvalidInput


def test_the_documented_numbers_are_the_defaults():
    settings = default_settings()
    assert (settings.scan.min_age_hours, settings.scan.half_life_hours, settings.scan.top) == (
        1.0,
        7 * 24,
        50,
    )
    assert (settings.consolidate.max_strength_delta, settings.consolidate.pairs) == (0.1, 3)
    assert (settings.downscale.factor, settings.downscale.floor) == (0.95, 0.01)
    assert settings.prune.never_accessed_days == 30
    assert settings.promote.session_spread == 5
    limits = {kind: settings.kind(kind).stale_after_days for kind in ("session", "bug", "config", "decision")}
    assert limits == {"session": 30, "bug": 60, "config": 90, "decision": 180}
    assert settings.kind("Reference").stale == settings.kind("heuristic").stale == "never"


def test_a_change_keeps_all_other_values():
    settings = settings_from({"scan": {"top": 3}, "kinds": {"meeting": _kind(7.0)}})
    assert settings.scan.top == 3
    assert settings.scan.half_life_hours == 168.0
    assert settings.kind("meeting").decay_per_day == 1 / 7
    assert settings.kind("never heard of") == settings.kinds["other"]


def _kind(days: float) -> dict[str, object]:
    return {"stale_after_days": days, "weight": 1.0, "importance": 1.0, "stale": "prune"}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"scan": {"topp": 3}}, "topp"),
        ({"scan": {"top": -1}}, "scan.top"),
        ({"downscale": {"factor": 1.5}}, "downscale.factor"),
        ({"nap": {}}, "nap"),
        ({"stabilize": {"stability_min": 400.0}}, "stability_min"),
    ],
)
def test_wrong_settings_are_refused_by_name(changes, named):
    with pytest.raises(InvalidInput, match=named):
        settings_from(changes)


def test_a_file_changes_what_it_names_and_a_bad_one_is_refused(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("[downscale]\nfactor = 0.5\n", "utf-8")
    assert load_settings(path).downscale.factor == 0.5
    path.write_text("[downscale\n", "utf-8")
    with pytest.raises(InvalidInput, match="not valid TOML"):
        load_settings(path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_settings(tmp_path / "missing.toml")
