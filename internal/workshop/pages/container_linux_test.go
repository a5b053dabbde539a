package pages

import (
	"bytes"
	"debug/elf"
	"encoding/pem"
	"errors"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// The user of the image.
const imageUser = 65532

// image builds what the Dockerfile of docs/deployment.md describes: the commands of the first stage
// run here, and the root folder gets what the second stage copies. certificates are the certificates of the
// machine that builds. The folder /out is a volume.
func image(t *testing.T, source string, certificates []byte) (root string) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/deployment.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```dockerfile\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatal("docs/deployment.md has no Dockerfile")
	}
	build, last, found := strings.Cut(string(block[1]), "FROM scratch\n")
	if !found || !strings.Contains(last, "USER 65532:65532\n") || !strings.Contains(last, `ENTRYPOINT ["/agent"]`) {
		t.Fatalf("the Dockerfile has another last stage:\n%s", last)
	}
	built := t.TempDir()
	for line := range strings.Lines(build) {
		if run, ok := strings.CutPrefix(strings.TrimSpace(line), "RUN CGO_ENABLED=0 go build"); ok {
			command(t, source, "bash", "-e", "-c", "CGO_ENABLED=0 go build"+strings.ReplaceAll(run, " /agent", " "+built+"/agent"))
		}
	}
	write := func(name string, data []byte, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, mode); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(built, "etc/ssl/certs/ca-certificates.crt"), certificates, 0o644)
	root = t.TempDir()
	copies := regexp.MustCompile(`(?m)^COPY --from=build (\S+) (\S+)$`).FindAllStringSubmatch(last, -1)
	if len(copies) != 2 {
		t.Fatalf("the last stage copies %q", copies)
	}
	for _, c := range copies {
		data, err := os.ReadFile(filepath.Join(built, c[1]))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(c[2], "/") {
			c[2] += filepath.Base(c[1])
		}
		write(filepath.Join(root, c[2]), data, 0o755)
	}
	if err := os.Mkdir(filepath.Join(root, "out"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "out"), 0o777); err != nil {
		t.Fatal(err)
	}
	return root
}

// start runs the program of an image as a container does: in its root folder, as a user without
// rights, with these variables and no others. It is a process with another root, since a daemon that
// runs containers is rarely at hand. It uses the network of the machine.
func start(t *testing.T, root string, env []string) (stderr string, err error) {
	t.Helper()
	var output bytes.Buffer
	cmd := &exec.Cmd{Path: "/agent", Dir: "/", Env: env, Stderr: &output}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: imageUser, Gid: imageUser}
	} else {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: imageUser, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: imageUser, HostID: os.Getgid(), Size: 1}}
	}
	err = cmd.Run()
	if errors.Is(err, syscall.EPERM) {
		t.Skipf("the system does not permit another root folder: %v", err)
	}
	return output.String(), err
}

// Code mode in an image that has a static program and certificates, and nothing else.
func TestContainer(t *testing.T) {
	t.Parallel()
	source := repository(t, "-kind", "codemode")
	worldText, err := os.ReadFile("testdata/world.json")
	if err != nil {
		t.Fatal(err)
	}
	world, err := proxytest.ParseWorld(worldText)
	if err != nil {
		t.Fatal(err)
	}
	platform, err := proxytest.New(world, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(platform)
	server.Config.ErrorLog = log.New(t.Output(), "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})

	root := image(t, source, certificate)
	file, err := elf.Open(filepath.Join(root, "agent"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	libraries, err := file.ImportedLibraries()
	if err != nil || len(libraries) > 0 || slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Errorf("the program is not static: %q %v", libraries, err)
	}

	run := func() (*proxytest.Log, *dispatch.ResponseCheck) {
		run := platform.NewRun()
		stderr, err := start(t, root, []string{
			"PIPELINES_ODYSSEY_PROXY_URL=" + server.URL + run.Path,
			"PIPELINES_RUN_TOKEN=" + run.Token,
			"PIPELINES_RUN_ID=" + run.ID,
			"PIPELINES_TASK_ID=42",
			`PIPELINES_TASK_INPUT_JSON={"task_id":42,"user_instruction":"Refund order #4521.","input":{}}`,
			"PIPELINES_RESULT_PATH=/out/result.json",
		})
		if err != nil {
			t.Fatalf("%v\n%s", err, stderr)
		}
		result, err := os.ReadFile(filepath.Join(root, "out", "result.json"))
		if err != nil {
			t.Fatal(err)
		}
		return run.Log(), dispatch.CheckResponse(result)
	}

	seen, check := run()
	if len(seen.Calls) != 2 || !check.Gradeable || !strings.Contains(check.FinalResponse, "I refunded $79.50") {
		t.Errorf("%d calls, %+v", len(seen.Calls), check)
	}
	// The program does not trust a proxy whose certificate the image does not have.
	if err := os.Remove(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt")); err != nil {
		t.Fatal(err)
	}
	seen, check = run()
	if len(seen.Calls) != 0 || !strings.Contains(check.FinalResponse, "I could not look up") {
		t.Errorf("without certificates: %d calls, %+v", len(seen.Calls), check)
	}
}
