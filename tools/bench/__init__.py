"""Measurements that `pawl bench` compares with their limits."""
