"""Several processes on one store, with crashes, power cuts and failing disks; one seed is one run.

`scheduler` lets one simulated process run at a time and passes the turn at file operations; `machine` is the disk
under them, `seams` puts both in the place of the real ones; `world` holds what the processes share, `process` what
each does, `judge` what must hold afterwards. `python -m tests.simulation --seed N` repeats a run.
"""
