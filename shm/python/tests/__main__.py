"""Runs all tests and tells a program how they went: python3 -m tests

A line of JSON a test, {"test": its id, "ok": …, "text": what went wrong}, and at the end
{"done": how many}. Anything else on the way out is not the tests' word.
"""
import faulthandler
import json
import sys
import unittest

HUNG_S = 240  # all together take seconds


class Lines(unittest.TestResult):
    """Tells each test once, with all that went wrong in it."""

    def startTest(self, test):
        super().startTest(test)
        self.wrong = []

    def addError(self, test, err):
        self.wrong.append(self._exc_info_to_string(err, test))
        if isinstance(test, unittest.TestCase):
            super().addError(test, err)
        else:  # a module or class that does not even load
            self.tell(str(test))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.wrong.append(self._exc_info_to_string(err, test))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.wrong.append(f"{subtest}\n{self._exc_info_to_string(err, test)}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.wrong.append(f"skipped, and none may be: {reason}")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.wrong.append("succeeded, which it was not to")

    def stopTest(self, test):
        super().stopTest(test)
        self.tell(test.id())

    def tell(self, name):
        print(json.dumps({"test": name, "ok": not self.wrong, "text": "\n".join(self.wrong)}), file=out, flush=True)


faulthandler.enable()
faulthandler.dump_traceback_later(HUNG_S, exit=True)
out, sys.stdout = sys.stdout, sys.stderr  # so that nothing a test prints gets between
result = Lines()
unittest.defaultTestLoader.discover("tests", top_level_dir=".").run(result)
print(json.dumps({"done": result.testsRun}), file=out, flush=True)
