package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// rehearse makes the release in a copy of the tree below dir, and the module proxy of it.
func rehearse(root, dir string, w io.Writer) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	tree := filepath.Join(dir, "tree")
	if err := copyTracked(root, tree); err != nil {
		return err
	}
	git := func(args ...string) (string, error) {
		// Settings of the user, such as signing, do not apply here.
		env := []string{"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull,
			"GIT_DIR=" + filepath.Join(tree, ".git"), "GIT_WORK_TREE=" + tree, "GIT_INDEX_FILE=" + filepath.Join(tree, ".git", "index"),
			"GIT_AUTHOR_NAME=rehearsal", "GIT_AUTHOR_EMAIL=", "GIT_COMMITTER_NAME=rehearsal", "GIT_COMMITTER_EMAIL="}
		return output(tree, env, "git", args...)
	}
	next, err := nextVersion(tree)
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A", "-f"}} {
		if _, err := git(args...); err != nil {
			return err
		}
	}
	// A version of its own for each content, so that the module cache never has another one.
	hash, err := git("write-tree")
	if err != nil {
		return err
	}
	version := next + "-rehearsal.t" + hash[:12]
	modules, err := prepare(tree, version, time.Now())
	if err != nil {
		return err
	}
	if _, err := git("commit", "-q", "-a", "-m", "Release "+version); err != nil {
		return err
	}
	for _, m := range modules {
		if _, err := git("tag", m.tag(version)); err != nil {
			return err
		}
	}
	proxy, err := fetch(tree, dir, modules, version, w)
	if err != nil {
		return err
	}
	if err := os.Rename(proxy, filepath.Join(dir, "proxy")); err != nil {
		return err
	}
	paths := make([]string, 0, len(modules))
	for _, m := range modules {
		paths = append(paths, m.Path)
	}
	if err := os.WriteFile(filepath.Join(dir, "modules"), []byte(strings.Join(paths, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "version"), []byte(version+"\n"), 0o644)
}

// fetch has the go command make the modules from the tags of a repository, checks them, and returns
// the folder with its cache of downloads, which has the layout of a module proxy.
func fetch(repository, dir string, modules []module, version string, w io.Writer) (proxy string, err error) {
	cache := filepath.Join(dir, "modcache")
	env := []string{
		"GOMODCACHE=" + cache, "GOFLAGS=-modcacherw", "GOWORK=off", "GOPROXY=direct", "GONOPROXY=", "GOPRIVATE=", "GOSUMDB=off", "GOVCS=*:git",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_VALUE_0=https://" + modules[0].Path, "GIT_CONFIG_KEY_0=url." + fileURL(repository) + ".insteadOf",
	}
	args := []string{"mod", "download", "-json"}
	for _, m := range modules {
		args = append(args, m.Path+"@"+version)
	}
	text, err := output(dir, env, "go", args...)
	if err != nil {
		return "", err
	}
	fetched := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(text)); ; {
		var one struct{ Path, Zip string }
		if err := dec.Decode(&one); err == io.EOF {
			break
		} else if err != nil {
			return "", err
		}
		fetched[one.Path] = one.Zip
	}
	for _, m := range modules {
		report, err := checkZip(fetched[m.Path], m, modules, version)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(w, report)
	}
	return filepath.Join(cache, "cache", "download"), nil
}

// fileURL returns the URL of a file or folder; dir is absolute.
func fileURL(dir string) string {
	return "file://" + path.Join("/", filepath.ToSlash(dir)) // the drive of Windows is the first element
}

// copyTracked copies the files that git tracks, as they are now.
func copyTracked(root, to string) error {
	list, err := output(root, nil, "git", "ls-files", "-z")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		source, target := filepath.Join(root, filepath.FromSlash(name)), filepath.Join(to, filepath.FromSlash(name))
		info, err := os.Lstat(source)
		if os.IsNotExist(err) {
			continue // deleted and not committed
		}
		if err != nil {
			return err
		}
		data, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, data, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return nil
}
