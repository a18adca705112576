"""What a claim writes into the row of each job that it takes."""

from __future__ import annotations

MOST_ATTEMPTS = 2**31 - 1  # that the column holds
_FIRST_RUN = -(2**31)  # below all numbers of runs that the row has had

# It must not fail by what a column cannot hold, or it would take none of the other jobs either. Behind the most an
# attempt stays there, which tells whoever is to run it; a run begins anew.
MARKED = f"""state = 1, lease = %(lease)s,
          run = case when run < {2**31 - 1} then run + 1 else {_FIRST_RUN} end,
          attempt = case when attempt < {MOST_ATTEMPTS} then attempt + 1 else {MOST_ATTEMPTS} end"""
