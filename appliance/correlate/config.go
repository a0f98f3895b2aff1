package correlate

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/skewgate/skewgate/appliance/hist"
)

// Match says what makes two messages of one stream belong to one picture.
type Match uint8

const (
	// MatchAuto keys a message by its frame id if it has one, else by its bucket. The
	// appliance decides once per camera instead and passes one of the others.
	MatchAuto Match = iota
	// MatchFrameID keys by frame id. A message without one is keyed by its bucket and counted.
	MatchFrameID
	// MatchBucket keys by floor(capture time / quantum) and ignores frame ids.
	MatchBucket
	// MatchWindow joins the nearest group whose capture times all lie within WindowNS.
	MatchWindow
)

var matchNames = map[string]Match{"auto": MatchAuto, "frame_id": MatchFrameID, "bucket": MatchBucket, "window": MatchWindow}

// String returns the name in the config, "" for none of ours.
func (m Match) String() string {
	for name, match := range matchNames {
		if match == m {
			return name
		}
	}
	return ""
}

// ParseMatch reads a match mode by its name in the config.
func ParseMatch(name string) (Match, error) {
	match, ok := matchNames[name]
	if !ok {
		return 0, fmt.Errorf("%q is not known: use auto, frame_id, bucket or window", name)
	}
	return match, nil
}

const (
	// Never as MaxAgeNS says that no group is too old to publish.
	Never int64 = math.MaxInt64
	// DefaultTTL as ClosedTTLNS stands for max(60 s, 4 × timeout).
	DefaultTTL int64 = -1

	// maxSpanNS bounds every duration and every instant of the arrival clock (146 years), so
	// that differences of two of them always fit an int64.
	maxSpanNS = 1 << 62
	// maxPendingLimit bounds the open groups that a config may ask for.
	maxPendingLimit = 1 << 20
)

// CameraConfig is how one camera's messages are matched and who is expected to answer.
type CameraConfig struct {
	Match           Match
	WindowNS        int64            // MatchWindow: largest spread of capture times in one picture
	FrameIntervalNS int64            // MatchWindow: must be more than twice WindowNS
	OffsetNS        map[string]int64 // by model: subtracted from its capture times and progress
	Expected        []string         // models whose answers make a quorum; empty = never early
}

// Config is everything a Correlator needs to know. All times are nanoseconds.
type Config struct {
	QuantumNS        int64 // width of a bucket; 0 = exact instants
	TimeoutNS        int64 // from a group's first arrival
	MaxAgeNS         int64 // more than TimeoutNS, or Never
	ClosedTTLNS      int64 // how long a closed key is remembered, or DefaultTTL
	MaxPending       int   // open groups
	EmitEmpty        bool  // publish groups in which nobody found anything
	ImplicitProgress bool  // a message with capture time t promises progress t − 1 ns
	SkewWindowNS     int64 // the moving window of the skew figures

	Camera  CameraConfig            // for cameras not named below
	Cameras map[string]CameraConfig // by "unit/camera"; each entry stands alone

	Limits Limits

	// FrameIDs, if set, says that frame ids are numbers of this table: each is in use while
	// an open group or a closed record has it as its key. Nil where the source counts frames.
	FrameIDs *Texts

	// Watch, if set, hears how every group ends.
	Watch Watch
}

// Limits bounds the tables. A zero field takes the default.
type Limits struct {
	Cameras     int // (unit, camera) pairs; default 8,192
	Models      int // model names, expected or not; default 1,024. At most 64 may ever be expected
	Closed      int // closed keys remembered; default 65,536
	RawKeys     int // distinct unreadable texts in open groups and closed keys; default 16,384
	SkewSamples int // samples in each moving window; default hist.DefaultLimit

	// GroupModels bounds the models in one group or closed key, and those with progress on one
	// timeline; default 128.
	GroupModels int
	// WindowGroups bounds the open groups and closed keys in sight of a message matched by
	// window, which are searched one by one; default 256. A camera has one a picture.
	WindowGroups int
}

// DefaultConfig returns the appliance's defaults with nobody expected.
func DefaultConfig() Config {
	return Config{
		QuantumNS:    int64(25 * time.Millisecond),
		TimeoutNS:    int64(300 * time.Millisecond),
		MaxAgeNS:     int64(2 * time.Second),
		ClosedTTLNS:  DefaultTTL,
		MaxPending:   4096,
		SkewWindowNS: int64(60 * time.Second),
	}
}

// ConfigError is one setting that cannot work.
type ConfigError struct {
	Camera  string // "unit/camera", or "" for all
	Key     string // without unit: quantum, timeout, max_age, closed_ttl, max_pending, skew_window, match, window, frame_interval, offset, expected
	Problem string // what is wrong, and the cure
}

func (e *ConfigError) Error() string {
	if e.Camera != "" {
		return fmt.Sprintf("camera %s: %s: %s", e.Camera, e.Key, e.Problem)
	}
	return e.Key + ": " + e.Problem
}

// Check returns everything that is wrong with the config, joined; each part is a *ConfigError.
func (cfg *Config) Check() error {
	var errs []error
	refuse := func(key, format string, args ...any) {
		errs = append(errs, &ConfigError{Key: key, Problem: fmt.Sprintf(format, args...)})
	}
	span := func(key string, ns int64) {
		if ns < 0 || ns > maxSpanNS {
			refuse(key, "%s is outside 0 … %s: give a duration", time.Duration(ns), time.Duration(maxSpanNS))
		}
	}
	span("quantum", cfg.QuantumNS)
	span("timeout", cfg.TimeoutNS)
	span("skew_window", cfg.SkewWindowNS)
	if cfg.ClosedTTLNS != DefaultTTL {
		span("closed_ttl", cfg.ClosedTTLNS)
	}
	if cfg.MaxAgeNS <= cfg.TimeoutNS {
		refuse("max_age", "%s is not greater than timeout %s, so every frame that waits for its timeout would be dropped: raise max_age or lower timeout",
			time.Duration(cfg.MaxAgeNS), time.Duration(cfg.TimeoutNS))
	} else if cfg.MaxAgeNS != Never {
		span("max_age", cfg.MaxAgeNS)
	}
	if cfg.MaxPending < 1 || cfg.MaxPending > maxPendingLimit {
		refuse("max_pending", "%d is outside 1 … %d: give the number of frames that may wait at once", cfg.MaxPending, maxPendingLimit)
	}
	errs = append(errs, cfg.Camera.check("")...)
	for _, name := range slices.Sorted(maps.Keys(cfg.Cameras)) {
		camera := cfg.Cameras[name]
		errs = append(errs, camera.check(name)...)
	}
	return errors.Join(errs...)
}

func (cc *CameraConfig) check(camera string) (errs []error) {
	refuse := func(key, format string, args ...any) {
		errs = append(errs, &ConfigError{Camera: camera, Key: key, Problem: fmt.Sprintf(format, args...)})
	}
	if cc.Match > MatchWindow {
		refuse("match", "%d is not known: use auto, frame_id, bucket or window", cc.Match)
	}
	if cc.Match == MatchWindow {
		w, T := cc.WindowNS, cc.FrameIntervalNS
		switch {
		case w < 0 || w >= maxSpanNS/2:
			refuse("window", "%s is outside 0 … %s: give the largest spread of capture times inside one picture", time.Duration(w), time.Duration(maxSpanNS/2))
		case T <= 0 || T > maxSpanNS:
			refuse("frame_interval", "%s is no interval between frames, and a window cannot be proved right without one: give the camera's", time.Duration(T))
		case 2*w >= T:
			refuse("window", "twice %s is not less than the frame interval %s, so two pictures could be mixed: narrow the window or match by frame_id or bucket",
				time.Duration(w), time.Duration(T))
		}
	}
	for _, model := range slices.Sorted(maps.Keys(cc.OffsetNS)) {
		if ns := cc.OffsetNS[model]; ns < -maxSpanNS || ns > maxSpanNS {
			refuse("offset", "%s of model %q is outside ±%s: give what its clock is ahead by", time.Duration(ns), model, time.Duration(maxSpanNS))
		}
	}
	return errs
}

func (cfg *Config) closedTTLNS() int64 {
	if cfg.ClosedTTLNS != DefaultTTL {
		return cfg.ClosedTTLNS
	}
	return max(int64(60*time.Second), 4*min(cfg.TimeoutNS, maxSpanNS/4))
}

func (l Limits) withDefaults() Limits {
	or := func(v, def int) int {
		if v <= 0 {
			return def
		}
		return v
	}
	return Limits{
		Cameras:      or(l.Cameras, 8192),
		Models:       or(l.Models, 1024),
		Closed:       or(l.Closed, 65536),
		RawKeys:      or(l.RawKeys, 16384),
		SkewSamples:  or(l.SkewSamples, hist.DefaultLimit),
		GroupModels:  or(l.GroupModels, 128),
		WindowGroups: or(l.WindowGroups, 256),
	}
}
