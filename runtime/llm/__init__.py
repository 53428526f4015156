"""Model providers behind one port: the scripted one for tests, the others for real; no execution here."""
