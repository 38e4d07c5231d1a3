"""The search for the fastest kernel, below `tessera-tune` and `Function.tune`: what to try, where it runs, what is
kept.

    Search ──batch──▶ pool ──trials──▶ file, Search … ──▶ ranked(): the fastest first
"""
