package process

import (
	"os"
	"testing"
)

func TestMemoryReadsTheProcess(t *testing.T) {
	for _, pid := range []int{0, os.Getpid()} {
		resident, err := Memory(pid, Resident)
		if err != nil || resident < 1 || resident > 4096 {
			t.Errorf("%v MiB of process %d are resident, %v", resident, pid, err)
		}
		if peak, err := Memory(pid, Peak); err != nil || peak < resident {
			t.Errorf("the peak of process %d is %v MiB, and %v are resident, %v", pid, peak, resident, err)
		}
	}
	if _, err := Memory(1<<30, Resident); err == nil {
		t.Error("memory of a missing process was found")
	}
	if _, err := Memory(0, "VmNone"); err == nil {
		t.Error("memory of an unknown line was found")
	}
}

func TestCPUGrowsWithWork(t *testing.T) {
	before := CPU()
	for sum := 0; CPU() == before; sum++ {
	}
	if after := CPU(); after <= before {
		t.Errorf("%v after %v", after, before)
	}
}
