#!/usr/bin/env bash
# The notebooks as tests on an Ascend NPU, for any runner:
#
#   docker/ascend-ci.sh [ARTEFACTS [NOTEBOOK...]]
#
# Needs the driver, CANN with the ops package of the chip, and Python 3.10 or newer. Fails without
# an NPU: a leg that did not run must never look like one that passed. In ARTEFACTS stand report.md,
# report.xml, the executed notebooks, and what was found on the machine. LABKIT_CI_PYTHON names a
# Python that has the lab with its test tools; without it an environment is made.
set -euo pipefail
artefacts=$(mkdir -p "${1:-artefacts}" && cd "${1:-artefacts}" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/.."
notebooks=("${@:2}")
[ ${#notebooks[@]} -gt 0 ] || notebooks=(notebooks)
set -- # a script that is sourced below would see the arguments
# What an earlier run left must not pass for this one's.
rm -f "$artefacts"/{report.md,report.xml,doctor.txt,npu-smi.txt}

if [ -z "${ASCEND_HOME_PATH:-}" ]; then
    for script in {/usr/local,"${HOME:-}"}/Ascend/{cann,ascend-toolkit}/set_env.sh; do
        if [ -f "$script" ]; then
            set +eu # CANN's script uses variables that are not set, and a test in it may fail
            # shellcheck disable=SC1090
            source "$script"
            set -eu
            break
        fi
    done
fi
export LABKIT_DEVICE=npu LABKIT_RAISE=1
unset LABKIT_LANG

python=${LABKIT_CI_PYTHON:-}
if [ -z "$python" ]; then
    python3 -m venv .venv-npu
    python=.venv-npu/bin/python
    "$python" -m pip install --quiet --editable '.[test]'
fi
npu-smi info > "$artefacts/npu-smi.txt" 2>&1 || echo "npu-smi failed; the doctor says more"
"$python" -m labkit doctor --device npu | tee "$artefacts/doctor.txt"

# One process, one notebook after the other: the device is shared.
status=0
"$python" -m labkit notebooks --on npu --keep "$artefacts/notebooks" \
    --report "$artefacts/report.md" "${notebooks[@]}" || status=$?
"$python" -m pytest -n 0 --nbval-lax --nbval-current-env \
    --nbval-sanitize-with=tests/nbval_sanitize.cfg --nbval-cell-timeout=300 \
    --nbval-kernel-startup-timeout=300 -p no:cacheprovider \
    --junitxml="$artefacts/report.xml" "${notebooks[@]}" || status=$?
exit "$status"
