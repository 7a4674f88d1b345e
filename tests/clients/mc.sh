# Runs mc's functional tests, unchanged, beyond the first that fails: `bash mc.sh FILE`, with mc in
# the current folder. Each runs in a shell of its own, because a failed assertion exits.
set +u
# shellcheck source=/dev/null
source <(head -n -1 "$1") # the last line runs everything
set +eE
object_name=mc-test-object # one test relies on what an earlier one has set
for name in $(declare -f run_test | grep -o 'test_[a-z0-9_]*' | grep -v sse); do # SSE-C needs TLS
  if output=$( ("$name") 2>&1); then echo "PASS $name"; else echo "FAIL $name ${output//$'\n'/ }"; fi
  [ "$name" != test_rb ] || setup
done
teardown
rm -rf "$MC_CONFIG_DIR" "$WORK_DIR"
