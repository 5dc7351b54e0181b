"""One log for many machines: packs of events on an engine that others have proved."""
