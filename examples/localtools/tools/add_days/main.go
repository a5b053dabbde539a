// Command add_days is a tool: it reads its arguments as JSON from stdin and prints one line of
// JSON.
package main

import (
	"encoding/json"
	"os"
	"time"
)

func main() {
	var args struct {
		Date string `json:"date"`
		Days int    `json:"days"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&args); err != nil {
		fail("the arguments are not JSON", "")
	}
	date, err := time.Parse(time.DateOnly, args.Date)
	if err != nil {
		fail("not a date", "write it as year-month-day, for example 2026-02-27")
	}
	_ = json.NewEncoder(os.Stdout).Encode(map[string]string{"date": date.AddDate(0, 0, args.Days).Format(time.DateOnly)})
}

// fail is the contract for failures: one line of JSON on stderr and a status other than 0.
func fail(reason, hint string) {
	_ = json.NewEncoder(os.Stderr).Encode(struct {
		Error string `json:"error"`
		Hint  string `json:"hint,omitempty"`
	}{reason, hint})
	os.Exit(1)
}
