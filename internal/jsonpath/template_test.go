package jsonpath_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/jsonpath"
)

func TestTemplates(t *testing.T) {
	for _, tt := range []struct{ text, names, flag, problem string }{
		{"a", "[]", "a", ""},
		{"fetched:{order_id}", "[order_id]", "fetched:1", ""},
		{"{a}{b}-{a.b} c", "[a b a.b]", "12-3 c", ""},
		{" ", "", "", "is empty"},
		{"{}", "", "", "without a name"},
		{"{{a}}", "", "", "braces"},
		{"a}", "", "", "braces"},
		{"}a}", "", "", "braces"},
		{"{a", "", "", "braces"},
	} {
		template, err := jsonpath.ParseTemplate(tt.text)
		if tt.problem != "" {
			if err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%q: %v, want %q", tt.text, err, tt.problem)
			}
			continue
		}
		values := []string{"1", "2", "3"}[:len(template.Names)]
		flag, ok := template.Fill(values, len(tt.flag))
		if err != nil || fmt.Sprint(template.Names) != tt.names || flag != tt.flag || !ok {
			t.Errorf("%q: %q, %q, %t, %v, want %s, %q", tt.text, template.Names, flag, ok, err, tt.names, tt.flag)
		}
		if _, ok := template.Fill(values, len(tt.flag)-1); ok {
			t.Errorf("%q: longer than allowed", tt.text)
		}
	}
}

// FuzzParse checks that a template is filled within its limit, and that the cost is linear.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"fetched:{order_id}", "{a}{b}-{a.b} c", "{{a}}", "}", "{"} {
		f.Add(text, "x")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		parse := func(text []byte) {
			template, err := jsonpath.ParseTemplate(string(text))
			if err != nil {
				return
			}
			values := make([]string, len(template.Names))
			for i := range values {
				values[i] = value
			}
			if flag, ok := template.Fill(values, 1000); ok && len(flag) > 1000 {
				t.Fatalf("%q has %d bytes", flag, len(flag))
			}
		}
		cost.Within(t, "Parse", len(text)+len(value), 1000, func() { parse([]byte(text)) })
		cost.Linear(t, "Parse", []byte(text+value), cost.List("", []byte(text), ""), parse)
	})
}
