package oracle

import "time"

// The wires: how messages are written behind the handshake.
const (
	WireMarshal = "marshal"
	WireJSON    = "json"
)

// Config is the line that tells a process what to hold. Exactly one of Source,
// Path and Package names the store; a command of the exec spec may ignore all.
type Config struct {
	Protocol int    `json:"diffstore_protocol"`
	Wire     string `json:"wire"`
	// Source is the text of a store file; Path the place of one.
	Source *string `json:"source,omitempty"`
	Path   string  `json:"path,omitempty"`
	// Package is an installed package that is located without importing it;
	// PackagePath the places in it where the store may be.
	Package     string   `json:"package,omitempty"`
	PackagePath []string `json:"package_path,omitempty"`
	// Class is the store's class where the user named one.
	Class    string `json:"class,omitempty"`
	BlackBox bool   `json:"black_box,omitempty"`
}

// Launch is all that is needed to start oracles of one kind.
type Launch struct {
	// Spec is the subject as the user named it; Version, Commit and Path where
	// the code is from, as far as known before the process says.
	Spec, Version, Commit, Path string
	Command                     []string
	Config                      Config
	// OpTimeout is how long one op may take; zero means DefaultOpTimeout.
	OpTimeout time.Duration
}

func (l *Launch) opTimeout() time.Duration {
	if l.OpTimeout > 0 {
		return l.OpTimeout
	}
	return DefaultOpTimeout
}

// foreign tells whether the command is the user's own and no Python of ours.
func (l *Launch) foreign() bool {
	return l.Config.Source == nil && l.Config.Path == "" && l.Config.Package == ""
}
