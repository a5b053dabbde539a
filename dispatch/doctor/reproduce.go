package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// sentText describes a probe in one line, without its secrets.
func (c *checkup) sentText(p probe) string {
	auth := "without the auth header"
	switch {
	case p.auth != "" && p.auth == c.setup.Target.AuthValue:
		auth = "with the auth value"
	case p.auth != "":
		auth = "with another auth value"
	}
	body := p.body
	switch {
	case p.pad > 0:
		body = fmt.Sprintf("32 MiB of spaces and %s", p.body)
	case p.header.Get("X-Pipelines-Run-Token") != "":
		body = "a dispatch with an expired run token"
	case body == "":
		body = "no body"
	}
	return fmt.Sprintf("%s, %s: %s", cmp.Or(p.method, http.MethodPost), auth, body)
}

// curl returns a command that sends a probe. $AUTH_VALUE stands for the auth value, and $URL for a
// URL that has a secret query or no longer exists.
func (c *checkup) curl(p probe) string {
	args := []string{"curl", "-i", "-X", cmp.Or(p.method, http.MethodPost)}
	if p.body != "" {
		args = append(args, "-H", shell("Content-Type: application/json"))
	}
	switch header := c.setup.Target.AuthHeader; {
	case p.auth == "":
	case p.auth == c.setup.Target.AuthValue:
		args = append(args, "-H", fmt.Sprintf(`"%s: $AUTH_VALUE"`, header))
	default:
		scheme, _, ok := strings.Cut(p.auth, " ")
		if !ok {
			scheme = ""
		}
		args = append(args, "-H", shell(fmt.Sprintf("%s: %s", header, strings.TrimSpace(scheme+" wrong"))))
	}
	for _, name := range slices.Sorted(maps.Keys(p.header)) {
		value := p.header.Get(name)
		if name == "X-Pipelines-Run-Token" {
			value = "expired"
		}
		if name != "Content-Type" && name != http.CanonicalHeaderKey(c.setup.Target.AuthHeader) {
			args = append(args, "-H", shell(name+": "+value))
		}
	}
	url := `"$URL"`
	if c.url != nil && c.url.RawQuery == "" {
		url = shell(c.name())
	}
	switch {
	case p.pad > 0:
		args = append(args, "--data-binary", "@-", url)
		return fmt.Sprintf(`(head -c %d /dev/zero | tr '\0' ' '; printf %s) | %s`, p.pad, shell(p.body), strings.Join(args, " "))
	case p.body != "":
		args = append(args, "-d", shell(p.body))
	}
	return strings.Join(append(args, url), " ")
}

// shell quotes text for a POSIX shell, on one line.
func shell(text string) string {
	if strings.ContainsAny(text, "\n\r\t") {
		return "$'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text) + "'"
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// beyondFlags reports whether the task has more than the flags of toolwire doctor can express.
func (c *checkup) beyondFlags() bool {
	t := c.opts.Task
	return t != nil && (t.Input != nil || t.Platform != nil || t.Conversation != nil || t.WrapProxy != nil ||
		!reflect.ValueOf(t.World).IsZero())
}

// again returns the call or the command of the doctor that repeats a scenario, or the sample.
func (c *checkup) again(scenario Name) string {
	if c.url == nil && len(c.target.Command) == 0 || c.beyondFlags() {
		if scenario == checkDispatch || scenario == checkLateCalls {
			if c.beyondFlags() {
				return "dispatchtest.Dispatch(ctx, target, task)"
			}
			return fmt.Sprintf("dispatchtest.Dispatch(ctx, target, dispatchtest.Task{Instruction: %q})", c.sample.Instruction)
		}
		return fmt.Sprintf("doctor.Check(ctx, target, &doctor.Options{Task: task, Scenarios: []doctor.Name{%q}})", scenario)
	}
	command := []string{"go run github.com/toolwire/toolwire/examples/toolwire doctor"}
	switch {
	case c.url == nil:
	case c.url.RawQuery == "":
		command = append(command, "-url", shell(c.name()))
	default:
		command = append(command, "-url", `"$URL"`)
	}
	if header := c.setup.Target.AuthHeader; header != "Authorization" {
		command = append(command, "-auth-header", shell(header))
	}
	if c.hasAuth {
		command = append(command, "-token-env AGENT_TOKEN")
	}
	for _, variable := range c.target.Env {
		name, _, _ := strings.Cut(variable, "=")
		command = append(command, "-env", shell(name))
	}
	if c.opts.ToolsSchema != nil {
		command = append(command, "-tools tools_schema.json")
	}
	if c.opts.Task != nil && c.opts.Task.Instruction != "" {
		command = append(command, "-instruction", shell(c.opts.Task.Instruction))
	}
	if scenario != checkDispatch && scenario != checkLateCalls {
		command = append(command, "-scenarios", string(scenario))
	}
	if c.url == nil {
		command = append(command, "--")
		for _, argument := range c.target.Command {
			command = append(command, shell(argument))
		}
	}
	return strings.Join(command, " ")
}
