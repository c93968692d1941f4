// Package gate runs everything that a CI wants to know of a store from one
// command: the saved traces, every profile with fixed seeds, a window of fresh
// seeds, the hash-counting check, and a claim where there are two stores.
//
// It decides what runs and in which order, and what that comes to. Running,
// comparing and telling are the work of the packages it calls.
package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/model"
)

// Version is the version of the settings file.
const Version = 1

// DefaultFile is the settings file that is read when it is there.
const DefaultFile = "diffstore.json"

// Settings are what a gate runs. Every field of the file is optional but the
// version; an unknown field is an error.
type Settings struct {
	Version int `json:"diffstore_gate"`
	// Oracle is the store under test, Model the variant it has to behave like.
	Oracle string `json:"oracle"`
	Model  string `json:"model"`
	// Python is the interpreter, Strict and Text what is compared beside the rest.
	Python string `json:"python"`
	Strict bool   `json:"strict"`
	Text   bool   `json:"text"`
	// Corpus are trace files and folders of them; Known the known divergences.
	Corpus []string `json:"corpus"`
	Known  string   `json:"known"`
	// Profiles are run with each of Seeds, Sequences sequences each.
	Profiles  []string `json:"profiles"`
	Seeds     []uint64 `json:"seeds"`
	Sequences int      `json:"sequences"`
	// Fresh is how many sequences of fresh seeds follow, of profile mixed.
	Fresh int `json:"fresh"`
	// Rescan is "require" (fail over the limit), "report" (tell) or "off".
	Rescan string `json:"rescan"`
	// RescanLimit is the most hashes of referenced keys.
	RescanLimit int `json:"rescan_limit"`
	// Base and Head, where both are given, are compared by Claim on ClaimProfiles.
	Base          string   `json:"base"`
	Head          string   `json:"head"`
	Claim         string   `json:"claim"`
	ClaimProfiles []string `json:"claim_profiles"`
}

// Default is what runs without a settings file.
func Default() Settings {
	s := Settings{
		Version: Version, Oracle: "embedded", Model: "main", Seeds: []uint64{1}, Sequences: 1000, Fresh: 2000,
		Rescan: "report", RescanLimit: 900, Claim: string(diff.Identical),
	}
	for _, p := range gen.Profiles() {
		s.Profiles = append(s.Profiles, p.Name)
	}
	s.ClaimProfiles = []string{"balanced", "unbalanced"}
	return s
}

// SettingsError is a settings file that cannot be used, in one line.
type SettingsError struct{ What string }

// Error gives the line.
func (e *SettingsError) Error() string { return e.What }

// Read reads a settings file over the defaults. The default file may be absent.
func Read(path string) (Settings, error) {
	s := Default()
	name := path
	if name == "" {
		name = DefaultFile
	}
	data, err := os.ReadFile(name)
	if path == "" && errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, &SettingsError{fmt.Sprintf("the settings cannot be read: %v", err)}
	}
	s.Version = 0
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return s, &SettingsError{fmt.Sprintf("%s:%d: %v; the fields are in docs/gate.md", name, lineOf(data, decoder, err), err)}
	}
	if _, err := decoder.Token(); err != io.EOF {
		return s, &SettingsError{fmt.Sprintf("%s:%d: something stands behind the settings; take it out", name, lineAt(data, decoder.InputOffset()))}
	}
	if s.Version != Version {
		return s, &SettingsError{fmt.Sprintf("%s: \"diffstore_gate\" is %d; this diffstore reads version %d", name, s.Version, Version)}
	}
	return s, nil
}

var unknownField = regexp.MustCompile(`unknown field (".*")`)

// lineOf gives the line that a decoding error speaks of.
func lineOf(data []byte, decoder *json.Decoder, err error) int {
	var syntax *json.SyntaxError
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return lineAt(data, syntax.Offset)
	case errors.As(err, &wrongType):
		return lineAt(data, wrongType.Offset)
	}
	// An unknown field is reported without its place, once the object is read.
	if m := unknownField.FindStringSubmatch(err.Error()); m != nil {
		return lineAt(data, int64(bytes.Index(data, []byte(m[1]))))
	}
	return lineAt(data, decoder.InputOffset())
}

func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:max(0, min(int(offset), len(data)))], []byte("\n"))
}

// Check tells what is wrong with the settings, or nil.
func (s *Settings) Check() error {
	bad := func(format string, args ...any) error { return &SettingsError{fmt.Sprintf(format, args...)} }
	if store, err := model.New(s.Model, 1, 1); err != nil {
		return bad("%v", err)
	} else {
		store.Release()
	}
	for _, list := range [][]string{s.Profiles, s.ClaimProfiles} {
		for _, profile := range list {
			if err := (gen.Config{Profile: profile}).Check(); err != nil {
				return bad("%v", err)
			}
		}
	}
	if _, err := diff.ParseClaim(s.Claim); err != nil {
		return bad("%v", err)
	}
	switch {
	case s.Sequences < 0 || s.Fresh < 0 || s.RescanLimit < 0:
		return bad("sequences, fresh and rescan_limit must not be below 0")
	case s.Rescan != "require" && s.Rescan != "report" && s.Rescan != "off":
		return bad("rescan is %q; use require, report or off", s.Rescan)
	case (s.Base == "") != (s.Head == ""):
		return bad("a claim needs both base and head")
	}
	return nil
}
