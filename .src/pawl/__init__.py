"""Pawl."""
