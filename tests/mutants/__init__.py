"""Faults that are planted in copies of the sources, to show which test notices each: `make mutants`."""
