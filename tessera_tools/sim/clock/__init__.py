"""The clock of the simulated GPU: how long a launch takes, and what it waits for.

launch ──record.py──▶ trace of each warp ──replay.py──▶ Timeline ──runtime/timing_report.py──▶ text, JSON
       ──survey.py──▶ what CTAs share     sample.py: one SM of a large grid
                      cost.py: issue slots and units of each instruction, from SASS or PTX
                      target/timing.py: rates and latencies, with their sources
"""
