"""The clock of the simulated GPU: how long a launch takes, and what it waits for.

launch ──record.py──▶ trace of each warp ──replay.py──▶ Timeline ──report.py──▶ text, JSON
                      cost.py: issue slots and units of each instruction, from SASS or PTX
                      target/timing.py: rates and latencies, with their sources
"""
