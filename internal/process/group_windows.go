package process

import (
	"os"
	"syscall"
	"unsafe"
)

// inlineInput is the number of bytes that an empty pipe accepts without a reader. Windows
// guarantees none.
const inlineInput = 0

// group is a program in a job object. When the last handle of the job closes, everything in it
// ends, so it does not survive this process.
type group struct {
	leader *os.Process
	state  *os.ProcessState // once reaped
	job    syscall.Handle   // 0 if the system gave none; kill then reaches the program only
}

func startGroup(c *Command, files pipes) (*group, error) {
	if info, err := os.Stat(c.Dir); err != nil {
		return nil, &DirError{err}
	} else if !info.IsDir() {
		return nil, &DirError{&os.PathError{Op: "chdir", Path: c.Dir, Err: syscall.ENOTDIR}}
	}
	env := c.Env
	if env == nil {
		env = []string{} // nil would mean the environment of this process
	}
	p, err := os.StartProcess(c.Argv[0], c.Argv, &os.ProcAttr{
		Dir:   c.Dir,
		Env:   env,
		Files: []*os.File{files.stdin, files.stdout, files.stderr},
		Sys:   &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true},
	})
	if err != nil {
		return nil, err
	}
	g := &group{leader: p}
	_ = p.WithHandle(func(h uintptr) { g.job = newJob(syscall.Handle(h)) })
	return g, nil
}

// terminate kills at once: a program without a console window has no signal like SIGTERM.
func (g *group) terminate() { g.kill() }

func (g *group) kill() {
	if g.job == 0 {
		_ = g.leader.Kill()
		return
	}
	_, _, _ = terminateJobObject.Call(uintptr(g.job), 1)
}

// awaitExit returns when the program has exited.
func (g *group) awaitExit() { g.state, _ = g.leader.Wait() }

// reap closes the job and returns how the program ended.
func (g *group) reap() (exitCode int, signal string) {
	if g.job != 0 {
		_ = syscall.CloseHandle(g.job)
	}
	if g.state == nil {
		return -1, ""
	}
	return g.state.ExitCode(), ""
}

// The procedures are resolved at their first call.
var (
	kernel32                 = syscall.NewLazyDLL("kernel32.dll")
	createJobObject          = kernel32.NewProc("CreateJobObjectW")
	setInformationJobObject  = kernel32.NewProc("SetInformationJobObject")
	assignProcessToJobObject = kernel32.NewProc("AssignProcessToJobObject")
	terminateJobObject       = kernel32.NewProc("TerminateJobObject")
)

// jobLimits is JOBOBJECT_EXTENDED_LIMIT_INFORMATION.
type jobLimits struct {
	PerProcessUserTimeLimit int64
	PerJobUserTimeLimit     int64
	LimitFlags              uint32
	MinimumWorkingSetSize   uintptr
	MaximumWorkingSetSize   uintptr
	ActiveProcessLimit      uint32
	Affinity                uintptr
	PriorityClass           uint32
	SchedulingClass         uint32
	// Windows aligns the next field to 8 bytes, also on 32-bit systems.
	_                     [8 - unsafe.Sizeof(uintptr(0))]byte
	IOCounters            [6]uint64
	ProcessMemoryLimit    uintptr
	JobMemoryLimit        uintptr
	PeakProcessMemoryUsed uintptr
	PeakJobMemoryUsed     uintptr
}

// newJob returns a job that contains the process, or 0.
func newJob(process syscall.Handle) syscall.Handle {
	const (
		extendedLimitInformation = 9
		limitKillOnJobClose      = 0x2000
	)
	h, _, _ := createJobObject.Call(0, 0)
	if h == 0 {
		return 0
	}
	limits := jobLimits{LimitFlags: limitKillOnJobClose}
	ok, _, _ := setInformationJobObject.Call(h, extendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits))
	if ok != 0 {
		ok, _, _ = assignProcessToJobObject.Call(h, uintptr(process))
	}
	if ok == 0 {
		_ = syscall.CloseHandle(syscall.Handle(h))
		return 0
	}
	return syscall.Handle(h)
}
