package supervise

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// errPermanent marks an error of starting that a restart cannot cure.
var errPermanent = errors.New("permanent")

// startError explains why path could not be started, and says whether trying again
// can help.
func startError(path string, err error) (explained error, permanent bool) {
	because := func(why string) error { return fmt.Errorf("start %s: %w: %s", path, rootCause(err), why) }
	switch {
	case errors.Is(err, errPermanent):
		return fmt.Errorf("start %s: %w", path, err), true
	case errors.Is(err, unix.ENOENT):
		if _, statErr := os.Stat(path); statErr == nil {
			return because("it is there, but the interpreter or dynamic loader it names is missing"), true
		}
		return because("missing; install it, or correct its path in the config"), true
	case errors.Is(err, unix.ENOEXEC):
		return because(formatOf(path)), true
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return because("not executable for this user; check its mode, its folders' modes and the mount's noexec"), true
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENAMETOOLONG), errors.Is(err, unix.EISDIR):
		return because("no such program; correct its path in the config"), true
	case errors.Is(err, unix.E2BIG), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ELIBBAD):
		return because("the program or its arguments cannot be run as they are"), true
	case errors.Is(err, unix.ETXTBSY):
		return because("being written just now; tried again"), false
	default:
		// EAGAIN, ENOMEM, EMFILE, ENFILE, EIO …: the machine's state, which changes.
		return because("tried again"), false
	}
}

// rootCause is the error number alone; os repeats the path.
func rootCause(err error) error {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// formatOf says what a file that the kernel cannot execute is.
func formatOf(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return "no program this machine can run (neither ELF nor a script that begins with #!)"
	}
	defer f.Close()
	return fmt.Sprintf("wrong architecture: built for %v, this machine is %s; install the build for it", f.Machine, runtime.GOARCH)
}
