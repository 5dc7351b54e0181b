"""Golden stores on other Pythons, processors and C++ libraries: `python -m tests.portability`."""
