"""The public testing kit: what an application or a third-party adapter tests itself with."""
