"""Durable values and event payloads: frozen, strictly decoded, JSON on disk; no storage and no loop here."""
