# SPDX-License-Identifier: Apache-2.0
"""What the service remembers: tables, repositories over them, migrations.

| file            | what it knows                                                            |
|-----------------|--------------------------------------------------------------------------|
| engine          | SQLite and PostgreSQL behind one door: a transaction to read, one to write |
| bell            | wakes threads that wait for something to do                              |
| tables          | every table                                                              |
| organizations   | organisations, their tier, their API keys                                |
| evaluations     | evaluations, attempts, the monthly quota, the rows kept for a certificate |
| idempotency     | answers given before, by idempotency key                                 |
| jobs            | work to do, under a lease                                                |
| leases          | what a process that died left behind                                     |
| journal         | the audit entries                                                        |
| registry        | certificates, pre-registrations, statuses                                |
| signals         | the signals of ERS 5.2                                                   |
| webhooks        | endpoints and deliveries                                                 |
| migrations      | how the tables came to be, step by step, and back                        |

A repository is a module of functions whose first argument is an open transaction; whatever belongs to an organisation
takes the organisation, so that no query can forget it. Moments are microseconds since 1970 in UTC.
"""

from epimeter.store.engine import Store

__all__ = ["Store"]
