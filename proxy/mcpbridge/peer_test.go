package mcpbridge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/proxy/mcpbridge"
)

const fine = `{"name":"fine","inputSchema":{"type":"object","properties":{"id":{"type":"string"}}}}`

// One tool that cannot be declared costs that tool.
func TestConnectReadsPieceByPiece(t *testing.T) {
	for _, tt := range []struct{ name, entry, problem string }{
		{"no name", `{"inputSchema":{"type":"object"}}`, "/0/name is required [name_missing]"},
		{"an empty name", `{"name":"","inputSchema":{"type":"object"}}`, "/0/name is required [name_missing]"},
		{"no schema", `{"name":"a"}`, "/0/input_schema is required"},
		{"null as schema", `{"name":"a","inputSchema":null}`, "/0/input_schema is required"},
		{"a number as schema", `{"name":"a","inputSchema":7}`, "/0/input_schema"},
		{"a list as schema", `{"name":"a","inputSchema":[]}`, "/0/input_schema"},
		{"a wrong keyword", `{"name":"a","inputSchema":{"type":"object","properties":7}}`, "/0/input_schema/properties"},
		{"a schema that refers to itself", `{"name":"a","inputSchema":{"$ref":"#"}}`, "/0/input_schema"},
		{"a broken reference", `{"name":"a","inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}}`, "/0/input_schema"},
		{"the name of another", strings.Replace(fine, "id", "other", 1), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := scripted(t, `{"tools":[`+tt.entry+`,`+fine+`]}`, map[string]string{"fine": `{"content":[]}`})
			p, problems, err := mcpbridge.Connect(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if tt.problem == "" {
				tt.problem = `tool "fine": /1/name is taken by the tool at place 0 already; the first one is declared [name_duplicate]`
			}
			if len(problems) != 1 || !strings.Contains(problems[0].String(), strings.TrimSuffix(tt.problem, " [name_missing]")) {
				t.Errorf("problems %v, want %s", problems, tt.problem)
			}
			if tools := p.Tools(); len(tools) != 1 || tools[0].Name != "fine" {
				t.Errorf("tools %v", tools)
			}
			if _, err := p.Call(t.Context(), "fine", nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// A name that the platform does not allow is changed, and calls have the server's name.
func TestConnectChangesNames(t *testing.T) {
	long := strings.Repeat("x", 130)
	for _, tt := range []struct{ names, want []string }{
		{[]string{"calendar.read"}, []string{"calendar_read"}},
		{[]string{"rm -rf", "a/b", "7up", "-x", "größe", "日"}, []string{"rm_-rf", "a_b", "_7up", "_-x", "gr__e", "_"}},
		{[]string{"a.b", "a_b", "a/b", "a b"}, []string{"a_b_2", "a_b", "a_b_3", "a_b_4"}},
		{[]string{"a.b", "a_b", "a/b", "a_b_2"}, []string{"a_b_3", "a_b", "a_b_4", "a_b_2"}},
		{[]string{long, long + "y"}, []string{long[:128], long[:126] + "_2"}},
	} {
		list, results := []string{}, map[string]string{}
		for _, name := range tt.names {
			list = append(list, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
			results[name] = fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, name)
		}
		p, problems, err := mcpbridge.Connect(t.Context(), scripted(t, `{"tools":[`+strings.Join(list, ",")+`]}`, results))
		if err != nil || problems != nil {
			t.Fatal(problems, err)
		}
		for i, tool := range p.Tools() {
			if tool.Name != tt.want[i] || toolresult.NameFault(tool.Name) >= 0 {
				t.Errorf("%q is declared as %q, want %q", tt.names[i], tool.Name, tt.want[i])
			}
			if got, err := p.CallForModel(t.Context(), tool.Name, nil); err != nil || got.Text != tt.names[i] {
				t.Errorf("the server was asked for %q, %v; want %q", got.Text, err, tt.names[i])
			}
		}
	}
}

// Nothing is sent for a name that is not declared: not for a server's own spelling either.
func TestUnknownNames(t *testing.T) {
	s := scripted(t, `{"tools":[{"name":"a.b","inputSchema":{"type":"object"}},{"name":"bad"}]}`, nil)
	p, _, err := mcpbridge.Connect(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.b", "bad", "", "A_b"} {
		got, err := p.CallForModel(t.Context(), name, nil)
		want := fmt.Sprintf(`{"error":"unknown_tool","detail":"there is no tool \"%s\"; names are case-sensitive","tools":["a_b"]}`, name)
		if err != nil || !got.Failed || got.Text != want {
			t.Errorf("%s, %v; want %s", got.Text, err, want)
		}
		if _, err := p.Call(t.Context(), name, nil); err == nil || !strings.Contains(err.Error(), "there is no tool") {
			t.Error(err)
		}
	}
}

// The digits of a result are the ones that were sent, or the result says that they are lost.
func TestDigits(t *testing.T) {
	const big = `9007199254740993`
	text := func(values ...string) string {
		blocks := make([]string, len(values))
		for i, value := range values {
			blocks[i] = fmt.Sprintf(`{"type":"text","text":%q}`, value)
		}
		return `"content":[` + strings.Join(blocks, ",") + `]`
	}
	for _, tt := range []struct{ name, result, want, text string }{ // text is what a model reads; "" for want
		{"one text", text(`{"id":` + big + `}`), `{"id":` + big + `}`, ""},
		{"an object", text(`{"id":`+big+`}`) + `,"structuredContent":{"id":` + big + `}`, `{"id":` + big + `}`, ""},
		{"other white space and order", text("{\n \"b\": 1.0, \"id\": "+big+"}") + `,"structuredContent":{"id":` + big + `,"b":1}`,
			"{\n \"b\": 1.0, \"id\": " + big + "}", ""},
		{"a list", text(`[`+big+`]`) + `,"structuredContent":{"result":[` + big + `]}`, `[` + big + `]`, ""},
		{"a list in pieces", text(`{"id":`+big+`}`, `{"id":1}`) + `,"structuredContent":{"result":[{"id":` + big + `},{"id":1}]}`,
			`[{"id":` + big + `},{"id":1}]`, `{"id":` + big + "}\n" + `{"id":1}`},
		{"a bare list", text(`[`+big+`]`) + `,"structuredContent":[` + big + `]`, `[` + big + `]`, ""},
		{"a number", text(big) + `,"structuredContent":{"result":` + big + `}`, big, ""},
		{"a string", text(`done`) + `,"structuredContent":{"result":"done"}`, `"done"`, "done"},
		{"more than a result", text(`[1]`) + `,"structuredContent":{"result":[1],"more":2}`, `{"more":2,"result":[1]}`, "[1]"},
		{"a text of other content", text(`{"id":1}`) + `,"structuredContent":{"id":2}`, `{"id":2}`, `{"id":1}`},
		{"a sentence beside the text", text("One order:", `{"id":`+big+`}`) + `,"structuredContent":{"id":` + big + `}`,
			`{"id":` + big + `}`, "One order:\n" + `{"id":` + big + `}`},
		{"an image beside the text", `"content":[{"type":"image","data":"eA==","mimeType":"image/png"},{"type":"text","text":"` + big +
			`"}],"structuredContent":{"result":` + big + `}`, big, ""},
		{"small numbers without a text", text() + `,"structuredContent":{"id":9007199254740991,"f":0.1,"big":[1.5e300,-0.5]}`, "lost", ""},
		{"small numbers", text() + `,"structuredContent":{"id":9007199254740991,"f":0.1}`, `{"f":0.1,"id":9007199254740991}`, ""},
		{"a sentence beside the object", text("1 order") + `,"structuredContent":{"id":` + big + `}`, `"1 order"`, "1 order"},
		{"the object alone", text() + `,"structuredContent":{"id":[{"a":-` + big + `}]}`, "lost", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := connectPeer(t, scripted(t, `{"tools":[`+fine+`]}`, map[string]string{"fine": `{` + tt.result + `}`}))
			got, err := p.Call(t.Context(), "fine", nil)
			read, modelErr := p.CallForModel(t.Context(), "fine", nil)
			if modelErr != nil {
				t.Fatal(modelErr)
			}
			if tt.want == "lost" {
				if err == nil || !strings.Contains(err.Error(), "digits are lost") || !read.Failed || !strings.Contains(read.Text, "digits are lost") {
					t.Errorf("%s, %v; a model reads %s", got, err, read.Text)
				}
				return
			}
			if err != nil || string(got) != tt.want || string(read.JSON) != tt.want {
				t.Errorf("%s and %s, %v; want %s", got, read.JSON, err, tt.want)
			}
			if want := tt.text; read.Failed || read.Text != want && (want != "" || read.Text != tt.want) {
				t.Errorf("a model reads %s, %t; want %s", read.Text, read.Failed, want)
			}
		})
	}
}

// A failure says that it is one.
func TestFailures(t *testing.T) {
	for _, tt := range []struct{ name, result, want string }{
		{"a text", `{"isError":true,"content":[{"type":"text","text":"no such order"}]}`, "no such order"},
		{"no content", `{"isError":true,"content":[]}`, "the tool failed and does not say why"},
		{"null as content", `{"isError":true,"content":null}`, "the tool failed and does not say why"},
		{"blank texts", `{"isError":true,"content":[{"type":"text","text":""},{"type":"text","text":" \n"}]}`, "the tool failed and does not say why"},
		{"structured content", `{"isError":true,"content":[],"structuredContent":{"message":"no such order"}}`, `{"message":"no such order"}`},
		{"structured content beside a blank text", `{"isError":true,"content":[{"type":"text","text":""}],"structuredContent":["no such order"]}`,
			`["no such order"]`},
		{"structured content without its digits", `{"isError":true,"content":[],"structuredContent":{"id":9007199254740993}}`,
			"the tool failed and does not say why"},
		{"a resource", `{"isError":true,"content":[{"type":"resource_link","uri":"file:///a","name":"a"}]}`, "file:///a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := connectPeer(t, scripted(t, `{"tools":[`+fine+`]}`, map[string]string{"fine": tt.result}))
			if got, err := p.Call(t.Context(), "fine", nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, %v; want %s", got, err, tt.want)
			}
			if got, err := p.CallForModel(t.Context(), "fine", nil); err != nil || !got.Failed || !strings.Contains(got.Text, tt.want) {
				t.Errorf("%s, %t, %v; want %s", got.Text, got.Failed, err, tt.want)
			}
			if got, err := box(t, p).CallForModel(t.Context(), "fine", `{}`); err != nil || !got.Failed {
				t.Errorf("in a toolbox: %s, %t, %v", got.Text, got.Failed, err)
			}
		})
	}
}
