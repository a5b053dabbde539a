package flagtemplate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/flagtemplate"
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
		template, err := flagtemplate.Parse(tt.text)
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
