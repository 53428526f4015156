"""Scenario files: from YAML, read strictly, to the values that `pawl.runtime.simulation` plays."""
