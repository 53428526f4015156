"""The machines, one YAML file each; README.md is the spec language on one page."""
