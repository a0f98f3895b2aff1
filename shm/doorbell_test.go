package shm

import (
	"testing"
	"time"
)

func testDoorbell(t *testing.T) *Doorbell {
	t.Helper()
	b := make([]byte, DoorbellBytes())
	if err := FormatDoorbell(b); err != nil {
		t.Fatal(err)
	}
	d, err := NewDoorbell(b)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSleepLooksOnceMore(t *testing.T) {
	d := testDoorbell(t)
	asked := 0
	began := time.Now()
	err := d.Sleep(func() bool {
		asked++
		if d.sleep.Load() != 1 {
			t.Error("the flag is not up when work is looked for")
		}
		return true
	}, int64(time.Minute))
	if err != nil || asked != 1 || time.Since(began) > 30*time.Second {
		t.Errorf("asked %d times in %v, %v", asked, time.Since(began), err)
	}
	if d.sleep.Load() != 0 {
		t.Error("the flag is still up")
	}
}

func TestSleepEndsAtItsTimeout(t *testing.T) {
	d := testDoorbell(t)
	never := func() bool { return false }
	began := time.Now()
	for time.Since(began) < 10*time.Millisecond { // an early return is allowed
		if err := d.Sleep(never, int64(10*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	for _, timeoutNS := range []int64{0, -1, -1 << 63} {
		if err := d.Sleep(never, timeoutNS); err != nil {
			t.Fatal(err)
		}
	}
	if d.sleep.Load() != 0 {
		t.Error("the flag is still up")
	}
}

// Between the flag and the wait, the bell rings: the kernel refuses to sleep.
func TestRingBeforeWait(t *testing.T) {
	d := testDoorbell(t)
	began := time.Now()
	if err := d.Sleep(func() bool { d.Ring(); return false }, int64(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("slept %v through a ring", took)
	}
}

func TestRingWithoutSleeperIsFree(t *testing.T) {
	d := testDoorbell(t)
	d.Ring()
	if d.bell.Load() != 0 {
		t.Error("a system call was made for nobody")
	}
}
