# SPDX-License-Identifier: Apache-2.0
"""What Alembic runs: the steps, on the connection that `migrate` opened, in its transaction."""

from alembic import context

from epimeter.store.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True, transactional_ddl=True)
# The transaction is the caller's: all steps or none, on SQLite too.
context.run_migrations()
