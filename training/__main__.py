"""``python -m training``: the command line."""

import sys

from training.system.interrupts import leave_when_interrupted

if __name__ == "__main__":
    leave_when_interrupted()

    import faulthandler
    import gc
    import signal

    from training.cli import main
    from training.errors import InputError
    from training.streams import prepare_streams, say
    from training.system.places import become_portable

    if sys.stderr is not None:
        faulthandler.enable()  # a crash in native code leaves a stack behind
    try:
        become_portable()
    except FileNotFoundError as error:
        prepare_streams()
        say(str(error.strerror))
        sys.exit(InputError.exit_code)
    code = main(sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # what is still to be taken down has nothing to say to that
    gc.freeze()  # a million objects would be looked through three times for what the end of the process takes anyway
    sys.exit(code)
