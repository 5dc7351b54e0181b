"""What a question gets: formulas as data, factors as functions, the score sheet, the ranking."""
