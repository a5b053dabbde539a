package main

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	const want = `due {"date":"2028-03-01"}, text {"words":6,"letters":19}
call_1 {"date":"2027-01-01"}
call_2 {"error":"not a date","hint":"write it as year-month-day, for example 2026-02-27"}
call_3 {"error":"invalid arguments: is missing the required property \"days\""}
call_4 {"error":"unknown tool: send_mail","tools":["add_days","count_words"]}
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}
