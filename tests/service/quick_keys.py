"""The program as it is, with passphrases stretched for a moment only: an issuer's four keys take it two seconds otherwise."""

from epimeter.trust import key_file

if __name__ == "__main__":
    key_file._N = 16
    from epimeter.cli import main

    main()
