"""The commands: tessera-opt and tessera-translate."""
