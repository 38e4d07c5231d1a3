"""The commands: tessera-opt, tessera-translate, tessera-run and tessera-cache."""
