"""One factor, one small pure function; its docstring is its formula and where it comes from."""
