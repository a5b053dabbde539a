package manifest_test

import "syscall"

func childAttributes(string) *syscall.SysProcAttr { return nil }
