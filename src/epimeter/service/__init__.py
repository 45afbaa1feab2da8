# SPDX-License-Identifier: Apache-2.0
"""The REST service of ONTO-ERS section 6 and the registry.

| file          | what it knows                                                                  |
|---------------|--------------------------------------------------------------------------------|
| settings      | everything that can be set, and which settings are refused                     |
| app           | the app: routes, handlers, what runs beside them                               |
| problems      | every error, in one shape (RFC 9457)                                           |
| secrets       | API keys and webhook secrets                                                   |
| access        | who calls, what he may, how often                                              |
| rates         | requests a minute, in memory, in Redis, in PostgreSQL                          |
| bodies        | a request's body: received, unpacked, parsed, each within limits               |
| predictions   | which reader reads which format                                                |
| json_rows     | JSON documents and NDJSON into columns; no key twice                           |
| arrow_tables  | Arrow streams and Parquet into columns                                         |
| columns       | columns of predictions, doubted once                                           |
| retained_rows | columns kept for a job or a certificate                                        |
| sums          | summaries as bodies: records that stay where they are                          |
| evaluated     | an evaluation in the words of the API                                          |
| acceptance    | an evaluation accepted: quota, attempt, result and audit entry in one commit   |
| schemas/      | what goes in and out, as types                                                 |
| documents     | the OpenAPI document, made from the routes and the schemas                     |
| renderings    | a stored report as JSON, text, Markdown or a page                              |
| passports     | the passport of an evaluation, JSON and PDF                                    |
| planning      | how many rows make a verdict firm                                              |
| issuing       | from an evaluation to its certificate, once                                    |
| badge         | level and status in a small picture                                            |
| answers       | answers as bytes, and requests that may be sent twice                          |
| examples      | examples of the OpenAPI document                                               |
| wire          | HTTP that is broken, too large or too slow                                     |
| server        | the process: secrets, database, keys, ports                                    |
| paging        | cursors                                                                        |
| workers       | threads that do jobs, make signals, deliver webhooks                           |
| signal        | the global signal: committed at T, open to all an hour later                   |
| webhooks      | Standard Webhooks, never into a private network                                |
| issuer_folder | the keys and logs of `trust`, opened once                                      |
| gauges        | numbers for Prometheus                                                         |
| client        | the service seen from outside: `epimeter.Client`                               |
| api/          | one module an area, one function an endpoint                                   |
"""
