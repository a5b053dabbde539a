package dispatch

import (
	"encoding/json"
	"math"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/rawjson"
)

var variantMembers = []string{"snapshot_id", "variant_id", "name", "fingerprint", "knob_values"}

// HarnessVariant is the configuration that the platform requests for a run. It is a member of the
// task input. The platform's documents do not describe it or its acknowledgement. Both are known
// from agents that use them.
type HarnessVariant struct {
	SnapshotID  string
	VariantID   string
	Name        string
	Fingerprint string
	Knobs       json.RawMessage // knob_values: an object; {} if absent
}

// HarnessVariant returns the variant of this run, or nil if there is none. The variant is the
// member harness_variant of the task input. Older releases name it configuration or harness_config;
// such a member counts if it is an object with snapshot_id or knob_values. An agent that receives a
// variant must apply it and set it in [Metadata], or fail the run. The error is a [*toolwire.Error] with
// invalid_input.
func (r *Run) HarnessVariant() (*HarnessVariant, error) {
	found := map[string]json.RawMessage{}
	limits := rawjson.Limits{Depth: math.MaxInt, Mode: rawjson.Liberal} // the envelope was checked
	err := rawjson.Read(r.Input, limits, func(read *rawjson.Reader) error {
		if read.Kind() != '{' {
			return nil
		}
		return read.Object(nil, func(name string) (err error) {
			switch name {
			case "harness_variant", "configuration", "harness_config":
				found[name], err = read.Value()
			}
			return err
		}, "harness_variant", "configuration", "harness_config")
	})
	if err != nil {
		return nil, &toolwire.Error{Package: "dispatch", Code: codeInput, Message: "the task input cannot be read", Err: err}
	}
	for _, name := range []string{"harness_variant", "configuration", "harness_config"} {
		block := found[name]
		if rawjson.IsNull(block) || name != "harness_variant" && !looksLikeVariant(block) {
			continue
		}
		v := &HarnessVariant{Knobs: json.RawMessage("{}")}
		err := rawjson.Read(block, limits, func(read *rawjson.Reader) error {
			return read.Object(variantMembers, func(name string) (err error) {
				switch name {
				case "snapshot_id":
					err = readID(read, &v.SnapshotID)
				case "variant_id":
					err = readID(read, &v.VariantID)
				case "name":
					v.Name, err = read.String()
				case "fingerprint":
					v.Fingerprint, err = read.String()
				case "knob_values":
					var knobs json.RawMessage
					if knobs, err = read.Value(); !rawjson.IsNull(knobs) {
						v.Knobs = knobs
					}
				}
				return err
			})
		})
		if err != nil {
			return nil, &toolwire.Error{Package: "dispatch", Code: codeInput, Message: "the task input's " + name + " cannot be read", Err: err}
		}
		return v, nil
	}
	return nil, nil
}

// looksLikeVariant distinguishes a variant from a member of the task's own with the same name.
func looksLikeVariant(block json.RawMessage) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(block, &members) == nil && (members["snapshot_id"] != nil || members["knob_values"] != nil)
}

// DecodeKnobs decodes the knobs into the struct that into points to. A knob without a field is an
// error, because an unknown knob must fail the run. A knob that is null leaves its field unchanged,
// so the agent's default stays. Names are case-sensitive. The error is a [*toolwire.Error] with
// invalid_input.
func (v *HarnessVariant) DecodeKnobs(into any) error {
	var knobs rawjson.Object
	err := rawjson.Read(v.Knobs, rawjson.Limits{}, func(r *rawjson.Reader) error {
		return r.Object(nil, func(name string) error {
			value, err := r.Value()
			if !rawjson.IsNull(value) {
				knobs.Put(name, value)
			}
			return err
		})
	})
	if err == nil {
		err = rawjson.DecodeExact(knobs.Bytes(), into, "the knobs")
	}
	if err != nil {
		message := "a knob of the harness variant is unknown or has the wrong type"
		return &toolwire.Error{Package: "dispatch", Code: codeInput, Message: message, Err: err}
	}
	return nil
}

// acknowledgement is what the response contains about the variant of the run.
func (v *HarnessVariant) acknowledgement() any {
	return struct {
		Source      string `json:"source"`
		SnapshotID  string `json:"snapshot_id"`
		Fingerprint string `json:"fingerprint"`
	}{"harness_variant", v.SnapshotID, v.Fingerprint}
}
