"""What sleep does: a cycle of phases, each a view in and facts out; nothing here writes."""
