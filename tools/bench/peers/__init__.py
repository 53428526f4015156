"""Pawl beside other libraries, on the same work, in an environment of their own: `make peers`."""
