"""A page about machines for people: one HTML file with the drawing, the tables and the source of the specs."""
