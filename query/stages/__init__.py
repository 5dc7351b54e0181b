"""The operations that formulas are made of, one file each; a stage adds to the score sheet."""
