"""The program as it is, with passphrases and passwords stretched for a moment only.

At full strength an issuer's four keys take two seconds of each first start, and every sign-in a fifth of one.
"""

from argon2 import PasswordHasher

from epimeter.service import sessions
from epimeter.trust import key_file

if __name__ == "__main__":
    key_file._N = 16
    sessions._hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    from epimeter.cli import main

    main()
