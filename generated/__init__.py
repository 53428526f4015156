"""One typed module for each machine in `fsm_specs/`, written by `pawl generate`; never edited by hand."""
