# SPDX-License-Identifier: Apache-2.0
"""From a document to trust in it, and nothing on faith.

| file              | what it knows                                                                |
|-------------------|------------------------------------------------------------------------------|
| strict_json       | bytes into a JSON value, one reading only                                    |
| canonical         | the one way to write a JSON value, bytes as text, a moment                   |
| keys, key_file    | Ed25519 keys and their ids; a private key as an encrypted file               |
| key_ring          | which key has which role from when to when; rotation, retirement, compromise |
| key_store         | a folder of private keys and their ring                                      |
| envelope          | a document signed: DSSE, embedded or apart                                   |
| root              | the versioned list of keys from which all trust starts                       |
| merkle            | the tree of RFC 6962 and its proofs                                          |
| note, checkpoint  | signed text; the signed size and root of a log                               |
| tiles, tlog_proof | the log as static files; the proof that travels with an entry                |
| log, sequencer    | the append-only log; entries into batches                                    |
| audit, monitor    | the log against its own checkpoints; the log against our memory              |
| status_list       | which certificates are revoked, suspended, superseded                        |

No function here reads the clock or trusts a key it was not given: both are arguments.
"""
