"""Tests of the binding: python3 -m unittest discover -s tests -t . in the folder above.

SKEWGATE_SHM_LIB names the C library under test. SKEWGATE_TEST_NUMPY=no hides numpy, so
that the other half of the code is tested on a machine that has it.
"""
import os
import sys
import time
import unittest

if not os.environ.get("SKEWGATE_SHM_LIB"):
    raise SystemExit("set SKEWGATE_SHM_LIB to the libskewgate_shm.so under test (make -C shm/c builds one)")
if os.environ.get("SKEWGATE_TEST_NUMPY") == "no":
    sys.modules["numpy"] = None  # importing it raises ImportError

try:
    import numpy
except ImportError:
    numpy = None


def needs_numpy(case):
    """A test of the half with numpy: simply not there in the other run."""
    return case if numpy is not None else None


def without_numpy(test):
    return test if numpy is None else None


class Case(unittest.TestCase):
    """A TestCase with enterContext, which Python has from 3.11 on."""

    def enterContext(self, context):
        entered = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return entered


def wait_for(test, what, seconds=60.0):
    """what() once it is true; fails the test when that takes too long."""
    end = time.monotonic() + seconds
    while not (got := what()):
        if time.monotonic() > end:
            test.fail(f"waited {seconds} s in vain")
        time.sleep(0.005)
    return got
