package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/valyala/fastjson"

	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/detect"
)

// Keys of the config, and of one camera's part of it.
var (
	replayCameraKeys = []string{"match", "window_ms", "frame_interval_ms", "offset_ms", "expected"}
	replayConfigKeys = append([]string{
		"quantum_ms", "timeout_ms", "max_age_ms", "max_pending", "number_unit", "skew_window_ms",
		"closed_ttl_ms", "emit_empty", "implicit_watermark", "cameras",
	}, replayCameraKeys...)
)

// configReader collects everything that is wrong instead of stopping at the first problem.
type configReader struct {
	values map[string]*fastjson.Value
	errs   []error
}

func (cr *configReader) refuse(err error) {
	if err != nil {
		cr.errs = append(cr.errs, err)
	}
}

// millis sets ns if the key is there; need says that it must be.
func (cr *configReader) millis(key string, ns *int64, need bool) {
	v := cr.values[key]
	if v == nil {
		if need {
			cr.refuse(fmt.Errorf("%s: missing: give a number of milliseconds", key))
		}
		return
	}
	value, err := readMillis(v, key)
	if err != nil {
		cr.refuse(fmt.Errorf("%w: give milliseconds with at most 6 decimal places", err))
		return
	}
	*ns = value
}

func (cr *configReader) flag(key string, flag *bool) {
	value, err := readBool(cr.values[key], key)
	cr.refuse(err)
	*flag = value
}

// configure reads the first line and makes the correlator.
func (r *replay) configure(line []byte) error {
	root, err := parseStrict(&r.parser, line)
	if err != nil {
		return fmt.Errorf(`the first line must be {"config":{…}}: %w`, err)
	}
	top, err := fields(root, "the first line", false, "", "config", "trace")
	if err != nil {
		return fmt.Errorf(`the first line must be {"config":{…}}: %w`, err)
	}
	if top[0] == nil {
		return errors.New(`config: missing: the first line must be {"config":{…}}`)
	}
	cfg := correlate.DefaultConfig()
	cfg.MaxAgeNS = correlate.Never // null and absent: no group is too old
	cfg.Limits.SkewSamples = replaySamples
	cr, err := readConfigFields(top[0], "config", replayConfigKeys)
	if err != nil {
		return err
	}
	cr.millis("quantum_ms", &cfg.QuantumNS, true)
	cr.millis("timeout_ms", &cfg.TimeoutNS, true)
	cr.millis("max_age_ms", &cfg.MaxAgeNS, false)
	cr.millis("skew_window_ms", &cfg.SkewWindowNS, false)
	cr.millis("closed_ttl_ms", &cfg.ClosedTTLNS, false)
	if cfg.ClosedTTLNS < 0 && cr.values["closed_ttl_ms"] != nil {
		cr.refuse(errors.New("closed_ttl_ms: below 0: leave it out for the default"))
	}
	if v := cr.values["max_pending"]; v != nil {
		n, err := readUint(v, "max_pending", 1<<31)
		cr.refuse(err)
		cfg.MaxPending = int(n)
	}
	cr.flag("emit_empty", &cfg.EmitEmpty)
	cr.flag("implicit_watermark", &cfg.ImplicitProgress)
	if v := cr.values["number_unit"]; v != nil {
		name, err := readText(v, "number_unit")
		cr.refuse(err)
		if err == nil {
			r.unit, err = detect.ParseNumberUnit(name)
			cr.refuse(err)
		}
	}
	// There is no safe default: [] switches early closing off, which must be said.
	if cr.values["expected"] == nil {
		cr.refuse(errors.New(`expected: missing: list the models of a quorum, [] for none`))
	}
	cr.camera(&cfg.Camera)
	cr.cameras(&cfg)
	r.ids = correlate.NewTexts(1 << 31) // as many as there are open groups and closed records
	cfg.FrameIDs = r.ids
	if r.adjust != nil {
		r.adjust(&cfg)
	}
	if r.group == nil {
		r.group = r.printGroup
	}
	if len(cr.errs) == 0 {
		r.c, err = correlate.New(cfg, func(g *correlate.Group) { r.group(g) })
		cr.refuse(err)
	}
	if len(cr.errs) == 0 && top[1] != nil {
		cr.refuse(r.beginTrace(top[0], top[1]))
	}
	return errors.Join(cr.errs...)
}

func readConfigFields(v *fastjson.Value, what string, keys []string) (*configReader, error) {
	values, err := fields(v, what, true, "", keys...)
	if err != nil {
		return nil, err
	}
	cr := &configReader{values: make(map[string]*fastjson.Value)}
	for i, key := range keys {
		cr.values[key] = values[i]
	}
	return cr, nil
}

// camera overrides what is given; the rest of cc stays as it is.
func (cr *configReader) camera(cc *correlate.CameraConfig) {
	if v := cr.values["match"]; v != nil {
		name, err := readText(v, "match")
		if err == nil {
			if cc.Match, err = correlate.ParseMatch(name); err != nil {
				err = fmt.Errorf("match: %w", err)
			}
		}
		cr.refuse(err)
	}
	cr.millis("window_ms", &cc.WindowNS, false)
	cr.millis("frame_interval_ms", &cc.FrameIntervalNS, false)
	if v := cr.values["expected"]; v != nil {
		var err error
		cc.Expected, err = readTexts(v, "expected")
		cr.refuse(err)
	}
	if v := cr.values["offset_ms"]; v != nil {
		object, err := v.Object()
		if err != nil {
			cr.refuse(errors.New("offset_ms: not an object: give {model: milliseconds}"))
			return
		}
		cc.OffsetNS = make(map[string]int64)
		object.Visit(func(key []byte, value *fastjson.Value) {
			ns, err := readMillis(value, "offset_ms of "+string(key))
			cr.refuse(err)
			if _, twice := cc.OffsetNS[string(key)]; twice {
				cr.refuse(fmt.Errorf("offset_ms: model %.40q is given twice", key))
			}
			cc.OffsetNS[string(key)] = ns
		})
	}
}

// cameras reads the overrides, each on top of the settings for all cameras.
func (cr *configReader) cameras(cfg *correlate.Config) {
	v := cr.values["cameras"]
	if v == nil {
		return
	}
	object, err := v.Object()
	if err != nil {
		cr.refuse(errors.New(`cameras: not an object: give {"unit/camera": {…}}`))
		return
	}
	cfg.Cameras = make(map[string]correlate.CameraConfig)
	object.Visit(func(key []byte, value *fastjson.Value) {
		name := string(key)
		switch _, twice := cfg.Cameras[name]; {
		case twice:
			cr.refuse(fmt.Errorf("cameras: %.80q is given twice", name))
			return
		case !strings.Contains(name, "/"):
			cr.refuse(fmt.Errorf(`cameras: %.80q names no unit: write "unit/camera"`, name))
			return
		}
		one, err := readConfigFields(value, fmt.Sprintf("camera %.80s", name), replayCameraKeys)
		if err != nil {
			cr.refuse(err)
			return
		}
		// What a camera does not say is as for all; what it says replaces, offsets as a whole.
		cc := cfg.Camera
		one.camera(&cc)
		for _, err := range one.errs {
			cr.refuse(fmt.Errorf("camera %.80s: %w", name, err))
		}
		cfg.Cameras[name] = cc
	})
}

// configErrorText names the keys as they are written here: times end in their unit.
func configErrorText(err error) string {
	var parts []string
	var walk func(error)
	walk = func(err error) {
		switch e := err.(type) {
		case interface{ Unwrap() []error }:
			for _, part := range e.Unwrap() {
				walk(part)
			}
		case *correlate.ConfigError:
			named := *e
			switch e.Key {
			case "quantum", "timeout", "max_age", "closed_ttl", "skew_window", "window", "frame_interval", "offset":
				named.Key += "_ms"
			}
			parts = append(parts, named.Error())
		default:
			parts = append(parts, err.Error())
		}
	}
	walk(err)
	return strings.Join(parts, "; ")
}
