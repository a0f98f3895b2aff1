#!/usr/bin/env bash
# Runs the demo and says in a few words what was just seen.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

frames=${1:?frames} snapshot=${2:?folder of the pictures}
bin/skewgate demo --frames "$frames" --snapshot "$snapshot"
cat <<EOT

What you just saw: two films played by ffmpeg as if they were cameras, four detector
processes on ONNX Runtime, each writing its boxes into shared memory, and one answer a
frame fused from them. The summary holds every model and the fused answer against the
films' hand-written truth; "mixed" counts answers that joined boxes of different pictures.

Pictures with boxes:  $snapshot/
More: bin/skewgate --help, README.md, docs/operations.md
EOT
