"""Which rows of a machine were taken: recorded in a process or a test run, read back, and set against the spec."""
