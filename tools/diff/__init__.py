"""Two versions of one machine: what is different, whether every word of the old one still holds, and a picture."""
