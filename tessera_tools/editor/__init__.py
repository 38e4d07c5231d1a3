"""What an editor asks about a text, without a protocol: positions and answers are those of the Language Server
Protocol, as plain dictionaries.

    text ──Document──▶ chunks ──parser/indexing.py──▶ names, operations, errors
                          └▶ diagnostics, hover, definition, references, rename, completion, outline, folding,
                             semantic tokens, hints, lenses
"""
