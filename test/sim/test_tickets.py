"""Tickets of a sample of clusters on the clock: what each gets from a counter, or by canceling launches."""

from __future__ import annotations

import numpy as np

from tessera_tools.sim.clock.tickets import Tickets

COUNTER = 0x100


def counted(tickets: Tickets, cluster: int, amount: int = 2) -> int:
    """What an atomic addition of `amount` by a cluster returns; the counter begins at 7."""
    (found,) = tickets.counted(cluster, COUNTER, np.array([7], np.uint32), np.array([amount], np.uint32))
    return int(found)


def test_clusters_count_in_turn() -> None:
    """As if each of the grid counted once before one counts again."""
    tickets = Tickets(clusters=4)
    assert [counted(tickets, cluster) for cluster in (1, 3, 1)] == [7 + 2 * 1, 7 + 2 * 3, 7 + 2 * (4 + 1)]


def test_a_counter_of_different_steps_gives_no_tickets() -> None:
    tickets = Tickets(clusters=4)
    counted(tickets, 0)
    assert tickets.first == {COUNTER: (7, 2)}
    counted(tickets, 0, amount=3)
    assert tickets.first == {COUNTER: (7, 0)}


def test_additions_in_laps_that_are_skipped_count() -> None:
    tickets = Tickets(clusters=4)
    counted(tickets, 1)
    tickets.take(1, 3)
    assert counted(tickets, 1) == 7 + 2 * (4 * 4 + 1)
    assert counted(tickets, 0) == 7


def test_cancellations_in_laps_that_are_skipped_count() -> None:
    tickets = Tickets(clusters=4, response=lambda cluster, number: number)
    tickets.take(1, 3)
    assert dict(tickets.canceled) == {1: 3}


def test_laps_that_take_nothing_count_nothing() -> None:
    tickets = Tickets(clusters=4)
    tickets.take(1, 3)
    assert not tickets.counts
    assert not tickets.canceled
