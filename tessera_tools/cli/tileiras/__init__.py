"""`tessera-tileiras`: compiles with the command line of NVIDIA's `tileiras`, so that it can stand in for it."""
