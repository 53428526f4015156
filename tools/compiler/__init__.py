"""Spec to model to checks to code and diagrams; imports `runtime/fsm` only, never `generated/`."""
