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
| names, shape      | names that read in one way; the shape of a document as a table               |
| certificate       | the certificate: shape, draft, what its numbers must agree on                |
| assessing         | a table of predictions into what a certificate states of it                  |
| disclosure        | the tree over the records; one record shown and proven                       |
| entries           | what the log remembers of each event                                         |
| registration      | the promise made before the data are evaluated                               |
| registry          | an issuer in a folder                                                        |
| succession        | how keys follow each other, and the trust root that says so                  |
| publishing        | what an issuer shows the world as files                                      |
| tile_log          | a log seen from outside                                                      |
| anchors           | the keys and logs that a verifier believes, and for whom each may speak      |
| verdict           | the answer: a word, what each step found, what is not proven                 |
| verify            | from the bytes of a certificate to a verdict, in eleven steps                |
| reproduction      | a certificate against its data, byte for byte                                |
| statement         | the certificate as DSSE envelope and in-toto statement                       |
| credential        | the certificate as W3C Verifiable Credential                                 |
| page              | verify.html: the verifier a second time, for browsers                        |

No function here reads the clock or trusts a key it was not given: both are arguments.
"""
