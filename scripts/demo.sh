#!/usr/bin/env bash
# Runs the demo and says in a few words what was just seen.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

frames=${1:?frames} snapshot=${2:?folder of the pictures}
bin/skewgate demo --frames "$frames" --snapshot "$snapshot"
cat <<EOT

What you just saw: two films played by ffmpeg as if they were cameras; four detectors on
ONNX Runtime, each a process of its own, looking at the same decoded pictures in shared
memory; and one answer a frame, fused from theirs. The summary measures each model and the
fused answer against the films' truth. The last figure counts answers that joined boxes of
different pictures, proved by the frame number drawn into the shapes film.

Before the films, detectors that find something in one picture of ten: the appliance's own, one in
C and one in Python that attach. While such a detector is silent about the others, their frames
wait for the timeout; as soon as it says that it looked, they take as long as the slowest detector.

Pictures, with each model's boxes in its colour and the fused ones in white: $snapshot/
The answers, a JSON line each: out/demo/fused.jsonl; the config behind it: out/demo/skewgate.yaml
Your own cameras and models: README.md
EOT
