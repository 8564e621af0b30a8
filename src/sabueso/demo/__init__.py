"""A pipeline that is broken in one place, for `make demo`: copied out and run under `sabueso run`."""
