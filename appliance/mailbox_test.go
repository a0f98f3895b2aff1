package appliance

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skewgate/skewgate/appliance/supervise"
	"github.com/skewgate/skewgate/shm"
)

// Deaths are heard in the order in which they were told, and a task with two words has its place
// by the newer one.
func TestMailboxKeepsTheOrder(t *testing.T) {
	memory := make([]byte, shm.DoorbellBytes())
	if err := shm.FormatDoorbell(memory); err != nil {
		t.Fatal(err)
	}
	bell, err := shm.NewDoorbell(memory)
	if err != nil {
		t.Fatal(err)
	}
	m := mailbox{bell: bell}
	for _, e := range []supervise.Event{
		{Task: "d", Start: 1, State: supervise.StateExited}, {Task: "b", Start: 1, State: supervise.StateExited},
		{Task: "a", Start: 1, State: supervise.StateExited}, {Task: "c", Start: 1, State: supervise.StateExited},
		{Task: "b", Start: 1, State: supervise.StateBackoff},
	} {
		m.put(e)
	}
	var heard []string
	if !m.take(func(task string, w word) { heard = append(heard, task+" "+w.state.String()) }) || m.take(func(string, word) {}) {
		t.Error("news told not once")
	}
	if diff := cmp.Diff([]string{"d exited", "a exited", "c exited", "b backoff"}, heard); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
}
